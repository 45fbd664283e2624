import * as z from "zod";
import { type Infer, method, notification, object, schema } from "./define.ts";
import { optional, ProcessId, record, Unsigned } from "./fields.ts";

const Port = schema(() => z.number().int().min(0).max(65_535));

export const NetworkProtocol = schema(() => z.enum(["http", "https_connect", "socks5_tcp", "socks5_udp"]));
export type NetworkProtocol = Infer<typeof NetworkProtocol>;

/** Unlike elsewhere, unknown members are an error: one that is misspelt would leave a secret unprotected. */
const CredentialProvider = schema(() =>
  z.strictObject({
    env: z.array(z.string()).optional().describe("Variables that hold the secret"),
    patterns: z.array(z.string()).optional().describe("Regular expressions of its form"),
    url_prefixes: z.array(z.string()).optional().describe("URLs to which it may be sent"),
    url_prefix_from_env: optional(z.string()).describe("Variable that holds another one"),
    auth: z
      .array(z.enum(["bearer", "token", "basic", "header"]))
      .optional()
      .describe("How it is sent: in `Authorization`, or in a header of its own. Default: `bearer`"),
    header: optional(z.string()).describe("Name of that header"),
    prefix: optional(z.string()).describe("Text before the secret in that header"),
  }),
);
export type CredentialProvider = Infer<typeof CredentialProvider>;

export const NetworkProxyConfig = object(() => ({
  enabled: z.boolean().describe("Must be true"),
  enableSocks5: z.boolean(),
  enableSocks5Udp: z.boolean(),
  allowUpstreamProxy: z.boolean(),
  dangerouslyAllowAllUnixSockets: z.boolean(),
  mode: z.enum(["limited", "full"]),
  allowLocalBinding: z.boolean().describe("Loopback and private addresses may be reached"),
  domains: optional(record(z.enum(["allow", "deny", "none"]))).describe("By host pattern"),
  unixSockets: optional(record(z.enum(["allow", "deny"]))).describe("By native path"),
  reviewDomains: z.array(z.string()).optional(),
  credentialMasking: z
    .boolean()
    .optional()
    .describe("The process gets stand-ins for its secrets; the proxy puts the secrets into its requests"),
  credentialProviders: record(CredentialProvider()).optional().describe("By name, besides the built-in ones"),
}));
export type NetworkProxyConfig = Infer<typeof NetworkProxyConfig>;

const label = schema(() => optional(z.string()));

export const NetworkProxyLaunch = object(() => ({
  proxy: NetworkProxyConfig(),
  auditMetadata: z
    .object({
      conversationId: label(),
      appVersion: label(),
      userAccountId: label(),
      authMode: label(),
      originator: label(),
      userEmail: label(),
      terminalType: label(),
      model: label(),
      slug: label(),
    })
    .optional()
    .describe("Used only in the proxy's records"),
  environmentId: optional(z.string()),
  executionId: optional(z.string()),
  policyDecisionTimeoutMs: optional(Unsigned()).describe(
    "Ask the client with `network/policyRequest` and wait up to this long; must not be 0",
  ),
}));
export type NetworkProxyLaunch = Infer<typeof NetworkProxyLaunch>;

export const NetworkDecision = schema(() =>
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("allow") }),
    z.object({ type: z.literal("deny"), reason: z.string() }),
    z
      .object({ type: z.literal("ask"), reason: z.string() })
      .describe("Blocks like `deny`, with a different label"),
  ]),
);
export type NetworkDecision = Infer<typeof NetworkDecision>;

export const networkServerMethods = {
  "network/policyRequest": method({
    doc: "Asks whether a process may reach a host that its proxy settings do not allow; no valid answer means no.",
    family: null,
    right: "session",
    lost: "unknown",
    answers: "eventually",
    params: () => ({
      processId: ProcessId(),
      request: z.object({ protocol: NetworkProtocol(), host: z.string(), port: Port() }),
    }),
    result: () => ({ decision: NetworkDecision() }),
  }),
};

export const networkNotifications = {
  "network/policyDecision": notification({
    doc: "Reports a decision of a process's proxy; informational, and dropped if the connection is busy.",
    from: "server",
    params: () => ({
      processId: ProcessId(),
      timestamp: z.string().describe("RFC 3339 in UTC with milliseconds"),
      scope: z.string().describe("`domain`"),
      decision: z.enum(["allow", "deny", "ask"]),
      source: z.string().describe("`decider` if the client was asked, else `baseline_policy`"),
      reason: z.string().describe("The client's reason, or one of the proxy's such as `not_allowed`"),
      protocol: NetworkProtocol(),
      host: z.string(),
      port: Port(),
      method: optional(z.string()).describe("HTTP method"),
      client: optional(z.string()).describe("Address and port the process connected from"),
      policyOverride: z.boolean().describe("True if the client allowed what the settings do not"),
    }),
  }),
};
