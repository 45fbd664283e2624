import { describe, expect, it } from "vitest";
import { childEnvironment, type EnvPolicy } from "./env-policy.ts";

const SERVER = {
  PATH: "/bin",
  HOME: "/root",
  TERM: "xterm",
  API_KEY: "k",
  MY_Secret: "s",
  github_token: "t",
};

const policy = (overrides: Partial<EnvPolicy> = {}): EnvPolicy => ({
  inherit: "all",
  ignoreDefaultExcludes: false,
  exclude: [],
  set: {},
  includeOnly: [],
  ...overrides,
});

const env = (policy: EnvPolicy | undefined, requested: Record<string, string> = {}): Record<string, string> =>
  Object.fromEntries(childEnvironment(SERVER, policy, requested));

describe("childEnvironment", () => {
  it("inherits nothing without a policy", () => {
    expect(env(undefined, { A: "1" })).toEqual({ A: "1" });
  });

  it("inherits all but what looks like a secret", () => {
    expect(env(policy())).toEqual({ PATH: "/bin", HOME: "/root", TERM: "xterm" });
    expect(env(policy({ ignoreDefaultExcludes: true }))).toEqual(SERVER);
  });

  it("inherits the core, or nothing", () => {
    expect(env(policy({ inherit: "core" }))).toEqual({ PATH: "/bin", HOME: "/root" });
    expect(env(policy({ inherit: "none" }))).toEqual({});
  });

  it("excludes by wildcards, whatever the case; brackets are no classes", () => {
    expect(env(policy({ exclude: ["t?rm", "H*"] }))).toEqual({ PATH: "/bin" });
    expect(env(policy({ exclude: ["[A-Z]*"] }))).toMatchObject({ PATH: "/bin" });
  });

  it("keeps only what is included, set entries not excepted", () => {
    expect(env(policy({ set: { A: "1", PATH: "/set" }, includeOnly: ["PATH"] }))).toEqual({ PATH: "/set" });
  });

  it("lets the request win over everything, except for the server's own secrets", () => {
    expect(env(policy({ exclude: ["*"] }), { PATH: "/mine", OPENAI_IDENTITY_TOKEN_FILE: "x" })).toEqual({
      PATH: "/mine",
    });
  });
});
