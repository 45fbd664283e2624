import * as z from "zod";
import { extensionField, type Infer, method, methodsWith, object, schema } from "./define.ts";
import { flag, NoParams, optional, PathUri, Unsigned } from "./fields.ts";

/** An absent name means that the server lacks the feature; clients ignore unknown names. */
export const EnvironmentCapabilities = object(() => ({
  networkProxyLaunch: flag("`process/start` takes `networkProxy`"),
  networkProxyReviewDomains: flag("The proxy takes `reviewDomains`"),
  credentialMasking: flag("The proxy takes `credentialMasking`"),
  credentialMaskingCustomProviders: flag("The proxy takes `credentialProviders`"),
  capabilityDiscoverySandbox: flag("`capabilityRoots/discoverV1` takes a sandbox for each root"),
  fsWatchMissing: flag("`fs/watchMissing` is served"),
  capabilityDiscoveryV2: flag("`capabilities/discoverV2` is served"),
  environmentConfigRead: flag("`environmentConfig/read` is served"),
  httpHeaderEnvVars: flag("Headers of `http/request` take `valueEnvVar`"),
  sandboxedFileStreaming: flag("`fs/open` takes a sandbox"),
  fileWriteStreaming: flag("`fs/open` takes `mode`, and `fs/writeBlock` is served"),
  shellSnapshotV2: flag("`process/start` takes `shellSnapshot`"),
  windowsMxc: flag("The sandbox level `mxc` is available"),
  linuxRootWritePreservesDevices: z.boolean().optional(),
  linuxApprovedRootWritePreservesRestrictions: z.boolean().optional(),
}));

export const EnvironmentInfo = object(() => ({
  shell: z
    .object({
      name: z.string().describe("`bash`, `zsh`, `sh`, `powershell` or `cmd`"),
      path: z.string().describe("Native path, not a URI"),
    })
    .describe("Shell in which a client runs command lines"),
  executorVersion: z.string().optional().describe("Codex release whose protocol the server speaks"),
  providerId: z.string().optional().describe("Stable id of the installation"),
  cwd: optional(PathUri()).describe("Working directory of the server"),
  userHomeDir: optional(PathUri()),
  platformOs: z.string().optional().describe("Such as `linux`"),
  prependPathDirs: z.array(PathUri()).optional().describe("Directories of bundled tools"),
  temporaryDirectories: z.array(PathUri()).optional().describe("Value of TMPDIR; empty if it is not set"),
  tempDir: optional(PathUri()),
  capabilities: EnvironmentCapabilities().optional(),
  extensions: z
    .array(z.string())
    .optional()
    .describe(
      "Methods that this server adds to Codex's, and parameters, such as `process/start.label`; absent on a Codex server",
    ),
  serverVersion: extensionField(z.string().optional().describe("Version of this program")),
}));
export type EnvironmentInfo = Infer<typeof EnvironmentInfo>;

const KeyPaths = schema(() => z.array(z.array(z.string())));

export const ConfigStack = object(() => ({
  layers: z
    .array(
      z.object({
        source: z.string().describe("Human-readable origin of the layer"),
        baseDir: PathUri().describe("Base of relative paths in the layer"),
        toml: z.string().describe("The selected keys of the layer"),
      }),
    )
    .describe("From the weakest to the strongest"),
  cloudInsertionIndex: Unsigned().describe("Index at which a client inserts its own layers"),
}));

const infoMethod = methodsWith({
  family: "environment info",
  right: "info",
  lost: "repeat",
  answers: "promptly",
  lane: "control",
});

export const environmentMethods = {
  "environment/info": infoMethod({
    doc: "Describes the machine and the server's capabilities, exactly as `initialize` does.",
    params: NoParams,
    result: EnvironmentInfo,
  }),
  "environment/status": infoMethod({
    doc: "Reports whether the server accepts work.",
    family: "environment status",
    params: NoParams,
    result: () => ({ status: z.string().describe("`ready`") }),
  }),
  "environmentConfig/read": method({
    doc: "Reads selected keys of the Codex configuration on the server's machine.",
    family: "environment config",
    right: "settings",
    lost: "repeat",
    answers: "eventually",
    params: () => ({
      cwd: PathUri().describe("Directory whose project configuration applies"),
      configPaths: KeyPaths().describe(
        'TOML key paths to take from the configuration, such as `[["mcp_servers"]]`',
      ),
      requirementsPaths: KeyPaths().describe("Key paths to take from the requirements"),
    }),
    result: () => ({
      userHomeDir: PathUri().nullable(),
      codexHomeDir: PathUri(),
      hostname: z.string().nullable(),
      config: ConfigStack(),
      requirements: ConfigStack(),
    }),
  }),
};
