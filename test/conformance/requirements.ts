import { authenticationRequirements } from "./requirements/authentication.ts";
import { dialectsRequirements } from "./requirements/dialects.ts";
import { discoveryRequirements } from "./requirements/discovery.ts";
import { environmentConfigRequirements } from "./requirements/environment-config.ts";
import { filesErrorsRequirements } from "./requirements/files-errors.ts";
import { filesReadRequirements } from "./requirements/files-read.ts";
import { filesTreeRequirements } from "./requirements/files-tree.ts";
import { filesWalkRequirements } from "./requirements/files-walk.ts";
import { filesWatchRequirements } from "./requirements/files-watch.ts";
import { filesWriteRequirements } from "./requirements/files-write.ts";
import { framingRequirements } from "./requirements/framing.ts";
import { httpRequirements } from "./requirements/http.ts";
import { listenRequirements } from "./requirements/listen.ts";
import { networkRequirements } from "./requirements/network.ts";
import { notificationsRequirements } from "./requirements/notifications.ts";
import { extensionRequirements } from "./requirements/extensions.ts";
import { processRequirements } from "./requirements/process.ts";
import type { Requirement } from "./requirements/requirement.ts";
import { sandboxProcessRequirements } from "./requirements/sandbox-process.ts";
import { sandboxPolicyRequirements } from "./requirements/sandbox-policy.ts";
import { sandboxFilesRequirements } from "./requirements/sandbox-files.ts";
import { semanticsRequirements } from "./requirements/semantics.ts";
import { sessionsRequirements } from "./requirements/sessions.ts";
import { valuesRequirements } from "./requirements/values.ts";

export const groups = [
  framingRequirements,
  listenRequirements,
  sessionsRequirements,
  valuesRequirements,
  processRequirements,
  extensionRequirements,
  notificationsRequirements,
  semanticsRequirements,
  sandboxProcessRequirements,
  sandboxPolicyRequirements,
  filesReadRequirements,
  filesWriteRequirements,
  filesTreeRequirements,
  filesWalkRequirements,
  filesWatchRequirements,
  filesErrorsRequirements,
  sandboxFilesRequirements,
  authenticationRequirements,
  environmentConfigRequirements,
  discoveryRequirements,
  httpRequirements,
  networkRequirements,
  dialectsRequirements,
];

/** Everything a client can rely on, by id. */
export const requirements = {
  ...framingRequirements,
  ...listenRequirements,
  ...sessionsRequirements,
  ...valuesRequirements,
  ...processRequirements,
  ...extensionRequirements,
  ...notificationsRequirements,
  ...semanticsRequirements,
  ...sandboxProcessRequirements,
  ...sandboxPolicyRequirements,
  ...filesReadRequirements,
  ...filesWriteRequirements,
  ...filesTreeRequirements,
  ...filesWalkRequirements,
  ...filesWatchRequirements,
  ...filesErrorsRequirements,
  ...sandboxFilesRequirements,
  ...authenticationRequirements,
  ...environmentConfigRequirements,
  ...discoveryRequirements,
  ...httpRequirements,
  ...networkRequirements,
  ...dialectsRequirements,
};

export type RequirementId = keyof typeof requirements;

export function requirementOf(id: RequirementId): Requirement {
  return requirements[id];
}
