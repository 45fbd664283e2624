import * as z from "zod";
import { extensionField, method, schema, type Infer } from "./define.ts";
import { NoParams, optional, PathUri, Unsigned } from "./fields.ts";

const flag = schema(() => z.boolean().optional());

/** An absent name means that the server lacks the feature; clients ignore unknown names. */
export const EnvironmentCapabilities = schema(() =>
  z.object({
    networkProxyLaunch: flag().describe("`process/start` takes `networkProxy`"),
    networkProxyReviewDomains: flag().describe("The proxy takes `reviewDomains`"),
    credentialMasking: flag().describe("The proxy takes `credentialMasking`"),
    credentialMaskingCustomProviders: flag().describe("The proxy takes `credentialProviders`"),
    capabilityDiscoverySandbox: flag().describe("`capabilityRoots/discoverV1` takes a sandbox for each root"),
    fsWatchMissing: flag().describe("`fs/watchMissing` is served"),
    capabilityDiscoveryV2: flag().describe("`capabilities/discoverV2` is served"),
    environmentConfigRead: flag().describe("`environmentConfig/read` is served"),
    httpHeaderEnvVars: flag().describe("Headers of `http/request` take `valueEnvVar`"),
    sandboxedFileStreaming: flag().describe("`fs/open` takes a sandbox"),
    fileWriteStreaming: flag().describe("`fs/open` takes `mode`, and `fs/writeBlock` is served"),
    shellSnapshotV2: flag().describe("`process/start` takes `shellSnapshot`"),
    windowsMxc: flag().describe("The sandbox level `mxc` is available"),
    linuxRootWritePreservesDevices: flag(),
    linuxApprovedRootWritePreservesRestrictions: flag(),
  }),
);
export type EnvironmentCapabilities = Infer<typeof EnvironmentCapabilities>;

export const EnvironmentInfo = schema(() =>
  z.object({
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
  }),
);
export type EnvironmentInfo = Infer<typeof EnvironmentInfo>;

const KeyPaths = schema(() => z.array(z.array(z.string())));

export const ConfigStack = schema(() =>
  z.object({
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
  }),
);
export type ConfigStack = Infer<typeof ConfigStack>;

export const environmentMethods = {
  "environment/info": method({
    doc: "Describes the machine and the server's capabilities, exactly as `initialize` does.",
    family: "environment info",
    right: "info",
    lost: "repeat",
    answers: "promptly",
    lane: "control",
    params: NoParams,
    result: EnvironmentInfo,
  }),
  "environment/status": method({
    doc: "Reports whether the server accepts work.",
    family: "environment status",
    right: "info",
    lost: "repeat",
    answers: "promptly",
    lane: "control",
    params: NoParams,
    result: () => z.object({ status: z.string().describe("`ready`") }),
  }),
  "environmentConfig/read": method({
    doc: "Reads selected keys of the Codex configuration on the server's machine.",
    family: "environment config",
    right: "settings",
    lost: "repeat",
    answers: "eventually",
    params: () =>
      z.object({
        cwd: PathUri().describe("Directory whose project configuration applies"),
        configPaths: KeyPaths().describe(
          'TOML key paths to take from the configuration, such as `[["mcp_servers"]]`',
        ),
        requirementsPaths: KeyPaths().describe("Key paths to take from the requirements"),
      }),
    result: () =>
      z.object({
        userHomeDir: PathUri().nullable(),
        codexHomeDir: PathUri(),
        hostname: z.string().nullable(),
        config: ConfigStack(),
        requirements: ConfigStack(),
      }),
  }),
};
