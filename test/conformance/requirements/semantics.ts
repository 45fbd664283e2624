import type { Requirements } from "./requirement.ts";

export const semanticsRequirements = {} satisfies Requirements;
