import type { Requirements } from "./requirement.ts";

export const valuesRequirements = {
  "environment.status:ready": {
    section: "5.2",
    behavior: "environment/status answers exactly {status: ready}.",
  },
} satisfies Requirements;
