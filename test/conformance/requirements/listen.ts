import type { Requirements } from "./requirement.ts";

export const listenRequirements = {} satisfies Requirements;
