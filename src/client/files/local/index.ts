import type { LocalTrees } from "../trees.ts";
import { copyTree } from "./copy-tree.ts";

/** The files of the machine that Node runs on. */
export const localTrees: LocalTrees = { copy: copyTree };
