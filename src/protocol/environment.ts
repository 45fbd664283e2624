import * as z from "zod";
import { method, schema, type Infer } from "./define.ts";
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
      .describe("The shell a client runs command lines with"),
    executorVersion: z.string().optional().describe("Version of the server"),
    providerId: z
      .string()
      .optional()
      .describe("Names the installation; the same as long as it stays the same"),
    cwd: optional(PathUri()).describe("Working directory of the server"),
    userHomeDir: optional(PathUri()),
    platformOs: z.string().optional().describe("Such as `linux`"),
    prependPathDirs: z.array(PathUri()).optional().describe("Directories of bundled tools"),
    temporaryDirectories: z
      .array(PathUri())
      .optional()
      .describe("What TMPDIR names; empty when it is not set"),
    tempDir: optional(PathUri()),
    capabilities: EnvironmentCapabilities().optional(),
    extensions: z
      .array(z.string())
      .optional()
      .describe(
        "Methods this server adds to Codex's, and parameters as `process/start.label`; absent from a Codex server",
      ),
  }),
);
export type EnvironmentInfo = Infer<typeof EnvironmentInfo>;

const KeyPaths = schema(() => z.array(z.array(z.string())));

export const ConfigStack = schema(() =>
  z.object({
    layers: z
      .array(
        z.object({
          source: z.string().describe("Where the layer comes from, for people"),
          baseDir: PathUri().describe("What relative paths in the layer are relative to"),
          toml: z.string().describe("The selected keys of the layer"),
        }),
      )
      .describe("From the weakest to the strongest"),
    cloudInsertionIndex: Unsigned().describe("Where a client inserts layers of its own"),
  }),
);
export type ConfigStack = Infer<typeof ConfigStack>;

export const environmentMethods = {
  "environment/info": method({
    doc: "Describes the machine and what the server can do, exactly as `initialize` does.",
    family: "environment info",
    lane: "control",
    params: NoParams,
    result: EnvironmentInfo,
  }),
  "environment/status": method({
    doc: "Tells whether the server can take work.",
    family: "environment status",
    lane: "control",
    params: NoParams,
    result: () => z.object({ status: z.string().describe("`ready`") }),
  }),
  "environmentConfig/read": method({
    doc: "Reads selected keys of the Codex configuration that lies on the server's machine.",
    family: "environment config",
    params: () =>
      z.object({
        cwd: PathUri().describe("Directory whose project configuration counts"),
        configPaths: KeyPaths().describe(
          'TOML key paths to take from the configuration, such as `[["mcp_servers"]]`',
        ),
        requirementsPaths: KeyPaths().describe("The same for the requirements"),
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
