import { expect } from "vitest";
import { outputOf } from "./process-events.ts";
import { openStdioPeer, type RawPeer } from "./raw-peer.ts";
import { READ_ONLY } from "./sandbox-context.ts";
import { expectError, start, type VerifyContext, verifies } from "./verifies.ts";

type Environment = Record<string, string>;

interface Policy {
  inherit: string;
  ignoreDefaultExcludes: boolean;
  exclude: string[];
  set: Environment;
  includeOnly: string[];
}

/** A policy that filters nothing, but for these members. */
function policy(members: Partial<Policy> = {}): Policy {
  return { inherit: "all", ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: [], ...members };
}

/** Runs `body` with a peer of a server that has these variables beside PATH and its home. */
async function withServer(
  launch: VerifyContext["launch"],
  env: Environment,
  body: (peer: RawPeer) => Promise<void>,
): Promise<void> {
  const server = await launch(["--listen", "stdio"], { env, keepStdout: false });
  const peer = openStdioPeer(server.child);
  await peer.handshake();
  await body(peer);
  // The end of input is what the real server leaves by; a signal alone does not move it.
  peer.close();
  await peer.closed;
}

let lastId = 0;

async function environmentOf(
  peer: RawPeer,
  envPolicy: Policy | undefined,
  env: Environment = {},
  more: Record<string, unknown> = {},
): Promise<Environment> {
  const overrides = { env, ...(envPolicy !== undefined && { envPolicy }), ...more };
  const output = await outputOf(peer, `environment ${++lastId}`, ["/usr/bin/env", "-0"], overrides);
  const entries = output.split("\0").slice(0, -1);
  return Object.fromEntries(
    entries.map((entry) => [entry.slice(0, entry.indexOf("=")), entry.slice(entry.indexOf("=") + 1)]),
  );
}

const greek = { ALPHA: "1", alpha_low: "2", ALPHABET: "3", BETA: "4" };

/** The variables of the server above that a process has, by name. */
function greekOf(environment: Environment): string[] {
  return Object.keys(environment)
    .filter((name) => name in greek)
    .sort();
}

verifies("env:no-policy", async ({ launch }) => {
  await withServer(launch, greek, async (peer) => {
    expect(await environmentOf(peer, undefined, { A: "1" })).toEqual({ A: "1" });
    expect(await environmentOf(peer, undefined, {})).toEqual({});
  });
});

verifies("env:inherit-all", async ({ launch }) => {
  await withServer(launch, greek, async (peer) => {
    const { PATH, ...rest } = await environmentOf(peer, policy());
    expect(rest).toMatchObject({ ...greek, HOME: expect.any(String) });
    // The real server prepends its own directories.
    expect(PATH).toMatch(/(^|:)\/usr\/bin:\/sbin:\/bin$/);
  });
});

verifies("env:inherit-core", async ({ launch }) => {
  const core = {
    SHELL: "/my/shell",
    TMPDIR: "/my/tmpdir",
    TEMP: "/my/temp",
    TMP: "/my/tmp",
    LANG: "my_LANG",
    LC_ALL: "C",
    LC_CTYPE: "C.UTF-8",
    LOGNAME: "me",
    USER: "myself",
    Shell: "in another case",
  };
  const others = { ...greek, TERM: "xterm", PWD: "/", LC_TIME: "C", USERNAME: "me", EDITOR: "ed" };
  await withServer(launch, { ...core, ...others }, async (peer) => {
    const environment = await environmentOf(peer, policy({ inherit: "core" }));
    expect(environment).toEqual({ ...core, PATH: expect.any(String), HOME: expect.any(String) });
  });
});

verifies("env:inherit-none", async ({ launch }) => {
  await withServer(launch, greek, async (peer) => {
    expect(await environmentOf(peer, policy({ inherit: "none" }))).toEqual({});
  });
});

const secrets = {
  MY_KEY: "1",
  KEYBOARD: "2",
  a_secret_b: "3",
  SECRET: "4",
  Token: "5",
  X_TOKENS: "6",
  PLAIN: "7",
};

function secretsOf(environment: Environment): string[] {
  return Object.keys(environment)
    .filter((name) => name in secrets)
    .sort();
}

verifies("env:default-excludes", async ({ launch }) => {
  await withServer(launch, secrets, async (peer) => {
    const environment = await environmentOf(peer, policy({ ignoreDefaultExcludes: false }));
    expect(secretsOf(environment)).toEqual(["PLAIN"]);
  });
});

verifies("env:ignore-default-excludes", async ({ launch }) => {
  await withServer(launch, secrets, async (peer) => {
    expect(secretsOf(await environmentOf(peer, policy()))).toEqual(Object.keys(secrets).sort());
  });
});

verifies("env:exclude-wildcards", async ({ launch }) => {
  await withServer(launch, greek, async (peer) => {
    const left: [string[], string[]][] = [
      [[], ["ALPHA", "ALPHABET", "BETA", "alpha_low"]],
      [["ALPHA"], ["ALPHABET", "BETA", "alpha_low"]],
      [["alpha*"], ["BETA"]],
      [["*A"], ["ALPHABET", "alpha_low"]],
      [["*BE*"], ["ALPHA", "alpha_low"]],
      [["b?ta"], ["ALPHA", "ALPHABET", "alpha_low"]],
      [["ALPHA?"], ["ALPHA", "ALPHABET", "BETA", "alpha_low"]],
      [["ALPHA???"], ["ALPHA", "BETA", "alpha_low"]],
      [
        ["A*A", "B*T*"],
        ["ALPHABET", "alpha_low"],
      ],
      [
        ["[AB]*", "ALPH.", "", "ALPH"],
        ["ALPHA", "ALPHABET", "BETA", "alpha_low"],
      ],
    ];
    for (const [exclude, names] of left) {
      expect({ exclude, names: greekOf(await environmentOf(peer, policy({ exclude }))) }).toEqual({
        exclude,
        names,
      });
    }
  });
});

verifies("env:wildcard-characters", async ({ launch }) => {
  await withServer(launch, {}, async (peer) => {
    const kept = async (name: string, pattern: string): Promise<boolean> => {
      const filter = policy({ inherit: "none", set: { [name]: "1" }, includeOnly: [pattern] });
      return Object.keys(await environmentOf(peer, filter)).length === 1;
    };
    for (const [name, pattern, fits] of [
      ["😀X", "?X", true],
      ["😀X", "??X", false],
      ["É", "é", true],
      ["\u212a", "k", true],
      ["ẞ", "ß", true],
      ["ß", "SS", false],
      ["σ", "ς", false],
      ["µ", "μ", false],
      ["a\nb", "a?b", true],
      ["a*b", "a\\*b", false],
    ] as const)
      expect([name, pattern, await kept(name, pattern)]).toEqual([name, pattern, fits]);
  });
});

const odd = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf", "", " ", "a b"];
const oddEnvironment = Object.fromEntries(odd.map((name) => [name, `of ${name}`]));

verifies("env:any-name", async ({ launch }) => {
  const inherited = Object.fromEntries(Object.entries(oddEnvironment).filter(([name]) => name !== ""));
  await withServer(launch, inherited, async (peer) => {
    expect(await environmentOf(peer, undefined, oddEnvironment)).toEqual(oddEnvironment);
    const set = policy({ inherit: "none", set: oddEnvironment });
    expect(await environmentOf(peer, set)).toEqual(oddEnvironment);
    const filtered = policy({ inherit: "none", set: oddEnvironment, includeOnly: ["__*", "to?tring"] });
    expect(Object.keys(await environmentOf(peer, filtered)).sort()).toEqual(["__proto__", "toString"]);
    const all = await environmentOf(peer, policy());
    expect(Object.entries(all).filter(([name]) => name !== "" && odd.includes(name))).toEqual(
      expect.arrayContaining(Object.entries(inherited)),
    );
    await expectError(
      peer.request("process/start", start("p", ["true"], { env: { ["__proto__"]: 1 } })),
      -32602,
      "invalid type: number, expected a string",
    );
  });
});

verifies("env:wildcard-work", async ({ launch }) => {
  await withServer(launch, {}, async (peer) => {
    const set = { ["a".repeat(300)]: "1", b: "2" };
    const many = policy({ inherit: "none", set, includeOnly: ["*a*a*a*a*a*a*b", "b"] });
    expect(await environmentOf(peer, many)).toEqual({ b: "2" });
    const long = Object.fromEntries(
      Array.from({ length: 13 }, (_, index) => ["a".repeat(16_000 + index), "1"]),
    );
    const includeOnly = [`*${"a".repeat(8_000)}b`];
    const started = performance.now();
    await expectError(
      peer.request(
        "process/start",
        start("p", ["true"], { envPolicy: policy({ inherit: "none", set: long, includeOnly }) }),
      ),
      -32011,
      "envPolicy: the wildcards take too many comparisons with the names",
    );
    // Each character with every other would take minutes.
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});

verifies("env:set", async ({ launch }) => {
  await withServer(launch, greek, async (peer) => {
    const set = { ALPHA: "set", MY_TOKEN: "set", NEW: "" };
    const members = { set, exclude: ["ALPHA", "NEW"], ignoreDefaultExcludes: false };
    expect(await environmentOf(peer, policy({ ...members, inherit: "none" }))).toEqual(set);
    expect(await environmentOf(peer, policy(members))).toMatchObject({ ...greek, ...set });
  });
});

verifies("env:include-only", async ({ launch }) => {
  await withServer(launch, greek, async (peer) => {
    const set = { ALPHA_SET: "kept", OTHER: "dropped" };
    expect(await environmentOf(peer, policy({ set, includeOnly: ["alpha*"] }))).toEqual({
      ALPHA: "1",
      ALPHABET: "3",
      alpha_low: "2",
      ALPHA_SET: "kept",
    });
    expect(await environmentOf(peer, policy({ set, includeOnly: ["BETA", "o?her"] }))).toEqual({
      BETA: "4",
      OTHER: "dropped",
    });
    expect(await environmentOf(peer, policy({ set, includeOnly: ["no such name"] }))).toEqual({});
  });
});

verifies("env:include-only-after-exclude", async ({ launch }) => {
  await withServer(launch, { ...greek, ALPHA_KEY: "5" }, async (peer) => {
    const members = { ignoreDefaultExcludes: false, exclude: ["ALPHA"], includeOnly: ["ALPHA*"] };
    expect(await environmentOf(peer, policy(members))).toEqual({ ALPHABET: "3", alpha_low: "2" });
  });
});

verifies("env:request-wins", async ({ launch }) => {
  await withServer(launch, greek, async (peer) => {
    const env = { ALPHA: "request", BETA: "request", CODEX_API_KEY: "request", MORE: "" };
    const members = {
      ignoreDefaultExcludes: false,
      exclude: ["*"],
      set: { BETA: "set" },
      includeOnly: ["BETA", "GAMMA"],
    };
    expect(await environmentOf(peer, policy(members), env)).toEqual(env);
  });
});

verifies("env:private-names", async ({ launch }) => {
  const names = {
    CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE: "1",
    CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN: "x",
    NODE_REPL_AUTH_TOKEN: "x",
    OPENAI_FEDERATION_RULE_ID: "x",
    OPENAI_IDENTITY_TOKEN_FILE: "/nowhere",
  };
  const { CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE: _, ...inherited } = names;
  await withServer(launch, { ...inherited, ...greek }, async (peer) => {
    const everything = await environmentOf(peer, policy());
    expect(Object.keys(everything)).toContain("ALPHA");
    expect(Object.keys(everything).filter((name) => name in names)).toEqual([]);
    expect(await environmentOf(peer, undefined, { ...names, A: "1" })).toEqual({ A: "1" });
    expect(await environmentOf(peer, policy({ inherit: "none", set: names }), names)).toEqual({});
  });
});

verifies("env:policy-required-members", async ({ peer }) => {
  const connection = await peer();
  const complete: Record<string, unknown> = { ...policy() };
  const refuse = (envPolicy: unknown, message?: string) =>
    expectError(connection.request("process/start", start("p", ["true"], { envPolicy })), -32602, message);
  for (const member of Object.keys(complete)) {
    const { [member]: _, ...rest } = complete;
    await refuse(rest, `missing field \`${member}\``);
    await refuse({ ...complete, [member]: null });
    await refuse({ ...complete, [member]: 1 });
  }
  await refuse({ ...complete, exclude: [1] }, "invalid type: number, expected a string");
  await refuse({ ...complete, set: { A: 1 } }, "invalid type: number, expected a string");
});

verifies("env:policy-inherit-variants", async ({ peer }) => {
  const connection = await peer();
  for (const inherit of ["some", "All", ""]) {
    await expectError(
      connection.request("process/start", start("p", ["true"], { envPolicy: policy({ inherit }) })),
      -32602,
      `unknown variant \`${inherit}\`, expected one of \`core\`, \`all\`, \`none\``,
    );
  }
});

verifies("process.start:terminal-locale", async ({ launch }) => {
  const localeIn = async (env: Environment, more: Record<string, unknown>, envPolicy = policy()) => {
    let locale: string[] = [];
    await withServer(launch, env, async (peer) => {
      const variables = await environmentOf(peer, envPolicy, {}, more);
      locale = Object.entries(variables).flatMap(([name, value]) =>
        /^L(?:ANG|C_)/.test(name) ? [value] : [],
      );
    });
    return locale;
  };
  const sized = { tty: true, terminalSize: { rows: 24, cols: 80 } };
  expect(await localeIn({}, sized)).toEqual(["C.UTF-8"]);
  expect(await localeIn({ LC_CTYPE: "POSIX" }, sized)).toEqual(["POSIX"]);
  expect(await localeIn({}, sized, policy({ inherit: "none" }))).toEqual([]);
  // What Codex starts gets what Codex's server would pass on.
  expect(await localeIn({}, { tty: true })).toEqual([]);
  expect(await localeIn({}, {})).toEqual([]);
});

verifies("process.start:sandbox-agent", async ({ launch }) => {
  const agent = { SSH_AUTH_SOCK: "/run/agent" };
  await withServer(launch, agent, async (peer) => {
    expect(await environmentOf(peer, policy())).toMatchObject(agent);
    const sandbox = READ_ONLY;
    expect(await environmentOf(peer, policy(), {}, { sandbox })).not.toHaveProperty("SSH_AUTH_SOCK");
    expect(await environmentOf(peer, policy(), agent, { sandbox })).toMatchObject(agent);
    expect(await environmentOf(peer, policy({ set: agent }), {}, { sandbox })).toMatchObject(agent);
  });
});
