import type { Requirements } from "./requirement.ts";

export const notificationsRequirements = {} satisfies Requirements;
