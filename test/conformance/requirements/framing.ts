import type { Requirements } from "./requirement.ts";

export const framingRequirements = {} satisfies Requirements;
