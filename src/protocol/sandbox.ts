import * as z from "zod";
import { extensionField, type Infer, object, schema } from "./define.ts";
import { optional, PathUri, Unsigned } from "./fields.ts";

// On the wire, members of the permission profile are snake_case, the surrounding ones camelCase.

const Subpath = schema(() => optional(z.string()).describe("Relative path below it"));

export const SpecialPath = schema(() =>
  z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("root") }).describe("The whole disk"),
    z.object({ kind: z.literal("minimal") }).describe("System directories needed to run programs"),
    z
      .object({ kind: z.enum(["project_roots", "current_working_directory"]), subpath: Subpath() })
      .describe("Every workspace root; both names are equivalent"),
    z.object({ kind: z.literal("tmpdir") }).describe("The directory named by TMPDIR of the process"),
    z.object({ kind: z.literal("slash_tmp") }).describe("`/tmp`"),
    z
      .object({ kind: z.literal("unknown"), path: z.string(), subpath: Subpath() })
      .describe("A location of a newer client; grants nothing"),
  ]),
);
export type SpecialPath = Infer<typeof SpecialPath>;

export const FileSystemPath = schema(() =>
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("path"), path: PathUri() }),
    z.object({ type: z.literal("glob_pattern"), pattern: z.string() }).describe("Only for denials"),
    z.object({ type: z.literal("special"), value: SpecialPath() }),
  ]),
);
export type FileSystemPath = Infer<typeof FileSystemPath>;

export const FileSystemEntry = object(() => ({
  path: FileSystemPath(),
  access: z
    .enum(["read", "write", "deny", "none"])
    .describe("The more specific path wins, then `deny`, then `write`; `none` means `deny`"),
  missing_path_behavior: optional(z.enum(["skip"])).describe(
    "No effect: a path that does not exist is ignored if it would be writable, and cannot be created otherwise",
  ),
}));
export type FileSystemEntry = Infer<typeof FileSystemEntry>;

export const FileSystemPolicy = schema(() =>
  z.discriminatedUnion("type", [
    z
      .object({
        type: z.literal("restricted"),
        entries: z.array(FileSystemEntry()),
        glob_scan_max_depth: optional(
          Unsigned().refine((value) => value > 0, "must be greater than zero"),
        ).describe("Search depth of glob patterns, from 1"),
      })
      .describe("Paths that no entry grants are not visible"),
    z.object({ type: z.literal("unrestricted") }).describe("Everything is writable"),
  ]),
);

export const NetworkAccess = schema(() => z.enum(["restricted", "enabled"]));

export const PermissionProfile = schema(() =>
  z.discriminatedUnion("type", [
    z
      .object({ type: z.literal("managed"), file_system: FileSystemPolicy(), network: NetworkAccess() })
      .describe("The server enforces the policy"),
    z.object({ type: z.literal("disabled") }).describe("No restriction"),
    z
      .object({ type: z.literal("external"), network: NetworkAccess() })
      .describe("The server's surroundings enforce it"),
  ]),
);
export type PermissionProfile = Infer<typeof PermissionProfile>;

export const SandboxContext = object(() => ({
  permissions: PermissionProfile(),
  cwd: optional(PathUri()).describe(
    "Base of relative patterns. A process has its own working directory for that; a file call needs it if an entry depends on it",
  ),
  workspaceRoots: z.array(PathUri()).optional().describe("What `project_roots` stands for"),
  realRoots: extensionField(
    z.boolean().optional().describe("Refuse the request if a symbolic link leads to a workspace root"),
  ),
  windowsSandboxLevel: z
    .enum(["disabled", "restricted-token", "elevated", "mxc"])
    .describe("Required on every platform"),
  windowsSandboxProxySettingsMode: optional(z.enum(["reconcile", "preserve"])),
  useLegacyLandlock: z.boolean().optional(),
  sandboxOverride: z
    .enum(["noOverride", "escalatedSandboxWithRestrictions", "bypassSandboxFirstAttempt"])
    .optional(),
  userHomeDir: optional(PathUri()).describe("No effect on Linux"),
  temporaryDirectories: optional(z.array(PathUri())).describe("No effect on Linux"),
  policyContext: optional(
    z.object({ cwd: optional(PathUri()), workspaceRoots: z.array(PathUri()).optional() }),
  ).describe("Replaces these two values; without roots of its own there are none"),
}));
export type SandboxContext = Infer<typeof SandboxContext>;
