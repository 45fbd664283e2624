import type { LocalTrees } from "../trees.ts";
import { downloadTree } from "./download-tree.ts";
import { uploadTree } from "./upload-tree.ts";

/** The files of the machine that Node runs on. */
export const localTrees: LocalTrees = { upload: uploadTree, download: downloadTree };
