import type { Requirements } from "./requirement.ts";

export const sessionsRequirements = {} satisfies Requirements;
