import { createHmac } from "node:crypto";
import { join } from "node:path";
import { expect } from "vitest";
import { withFiles } from "./process-events.ts";
import { type HttpAnswer, httpRequest, upgradeHeaders } from "./raw-http.ts";
import { type VerifyContext, verifies } from "./verifies.ts";

const SECRET = "0123456789abcdef0123456789abcdef";
const INVALID = "invalid websocket jwt";
const EXPIRED = "expired websocket jwt";
const NOT_YET = "websocket jwt is not valid yet";
const SKEW_SECONDS = 30;

interface Signing {
  header?: unknown;
  key?: string;
  hash?: string;
}

function encode(part: unknown): string {
  return Buffer.from(typeof part === "string" ? part : JSON.stringify(part)).toString("base64url");
}

/** Claims given as text are signed as they are: JSON.stringify cannot write them all. */
function jwt(claims: unknown, { header = { alg: "HS256" }, key = SECRET, hash = "sha256" }: Signing = {}) {
  const signed = `${encode(header)}.${encode(claims)}`;
  return `${signed}.${createHmac(hash, key).update(signed).digest("base64url")}`;
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

function inTenMinutes(): number {
  return nowSeconds() + 600;
}

class Gate {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  async try(token: string): Promise<HttpAnswer> {
    return httpRequest(this.url, "GET", "/", [
      ...Object.values(upgradeHeaders),
      `Authorization: Bearer ${token}`,
    ]);
  }

  async admits(token: string, what = token): Promise<void> {
    const { status, body } = await this.try(token);
    expect({ what, status, body }).toEqual({ what, status: 101, body: "" });
  }

  async refuses(token: string, reason: string, what = token): Promise<void> {
    const { status, body } = await this.try(token);
    expect({ what, status, body }).toEqual({ what, status: 401, body: reason });
  }

  /** The result for a token made for this very second; repeated if the second ends before the answer. */
  async bodyAt(tokenOf: (now: number) => string): Promise<string> {
    for (;;) {
      const now = nowSeconds();
      const { body } = await this.try(tokenOf(now));
      if (nowSeconds() === now) return body;
    }
  }
}

/** The body of a test on a server that takes tokens signed with the secret. */
function onGate(body: (gate: Gate) => Promise<void>, options: readonly string[] = [], secret = SECRET) {
  return async ({ launch }: VerifyContext) =>
    withFiles({ secret }, async ({ path }) => {
      const server = await launch([
        "--ws-auth",
        "signed-bearer-token",
        "--ws-shared-secret-file",
        join(path, "secret"),
        ...options,
      ]);
      await body(new Gate(await server.banner()));
    });
}

verifies(
  "auth.jwt:accepted",
  onGate(async (gate) => {
    await gate.admits(jwt({ exp: inTenMinutes() }));
    const { status, body } = await httpRequest(gate.url, "GET", "/", Object.values(upgradeHeaders));
    expect({ status, body }).toEqual({ status: 401, body: "missing websocket bearer token" });
  }),
);

verifies(
  "auth.jwt:secret-trimmed",
  onGate(
    async (gate) => {
      await gate.admits(jwt({ exp: inTenMinutes() }));
      await gate.refuses(jwt({ exp: inTenMinutes() }, { key: `\n ${SECRET}\n` }), INVALID);
    },
    [],
    `\n ${SECRET}\n`,
  ),
);

verifies(
  "auth.jwt:header",
  onGate(async (gate) => {
    const claims = { exp: inTenMinutes() };
    for (const more of [{ typ: "JWT" }, { typ: "x" }, { kid: "k", x: 1 }]) {
      await gate.admits(jwt(claims, { header: { alg: "HS256", ...more } }), JSON.stringify(more));
    }
    await gate.refuses(jwt(claims, { header: { alg: "HS256", typ: 1 } }), INVALID);
  }),
);

verifies(
  "auth.jwt:algorithm",
  onGate(async (gate) => {
    const claims = { exp: inTenMinutes() };
    await gate.refuses(`${encode({ alg: "none" })}.${encode(claims)}.`, INVALID, "none, unsigned");
    for (const alg of ["none", "hs256", "RS256", "", undefined, 256]) {
      await gate.refuses(jwt(claims, { header: { alg } }), INVALID, `${alg}`);
    }
    await gate.refuses(jwt(claims, { header: { alg: "HS512" }, hash: "sha512" }), INVALID, "HS512");
    await gate.refuses(jwt(claims, { header: { alg: "HS384" }, hash: "sha384" }), INVALID, "HS384");
  }),
);

verifies(
  "auth.jwt:signature",
  onGate(async (gate) => {
    const good = jwt({ exp: inTenMinutes() });
    await gate.refuses(jwt({ exp: inTenMinutes() }, { key: SECRET.toUpperCase() }), INVALID, "another key");
    await gate.refuses(good.slice(0, -2), INVALID, "cut");
    await gate.refuses(`${good}=`, INVALID, "padded");
    await gate.refuses(good.replace(/[^.]*$/, ""), INVALID, "empty");
    const [header, , signature] = good.split(".");
    const forged = `${header}.${encode({ exp: inTenMinutes() + 1 })}.${signature}`;
    await gate.refuses(forged, INVALID, "of other claims");
  }),
);

verifies(
  "auth.jwt:shape",
  onGate(async (gate) => {
    const good = jwt({ exp: inTenMinutes() });
    const tokens = [
      "x",
      "..",
      good.replace(/\.[^.]*$/, ""),
      `${good}.x`,
      jwt("not json"),
      jwt([1]),
      jwt("1"),
    ];
    for (const token of tokens) await gate.refuses(token, INVALID);
    await gate.refuses(jwt({ exp: inTenMinutes() }, { header: "not json" }), INVALID);
  }),
);

verifies(
  "auth.jwt:exp-required",
  onGate(async (gate) => {
    const exp = inTenMinutes();
    const claims = ["{}", `{"exp":null}`, `{"exp":"${exp}"}`, `{"exp":${exp}.5}`, `{"exp":${exp}.0}`];
    for (const text of [...claims, `{"exp":1e10}`, `{"exp":true}`, `{"exp":9223372036854775808}`]) {
      await gate.refuses(jwt(text), INVALID, text);
    }
  }),
);

verifies(
  "auth.jwt:exp-range",
  onGate(async (gate) => {
    await gate.admits(jwt(`{"exp":9223372036854775807}`));
    await gate.refuses(jwt(`{"exp":-9223372036854775808}`), EXPIRED);
    await gate.refuses(jwt({ exp: 0 }), EXPIRED);
  }),
);

verifies(
  "auth.jwt:expired",
  onGate(async (gate) => {
    await gate.refuses(jwt({ exp: nowSeconds() - 3600 }), EXPIRED);
  }),
);

verifies(
  "auth.jwt:exp-skew",
  onGate(async (gate) => {
    expect(await gate.bodyAt((now) => jwt({ exp: now - SKEW_SECONDS }))).toBe("");
    expect(await gate.bodyAt((now) => jwt({ exp: now - SKEW_SECONDS - 1 }))).toBe(EXPIRED);
  }),
);

verifies(
  "auth.jwt:nbf",
  onGate(async (gate) => {
    await gate.admits(jwt({ exp: inTenMinutes(), nbf: nowSeconds() }));
    await gate.refuses(jwt({ exp: inTenMinutes(), nbf: inTenMinutes() }), NOT_YET);
  }),
);

verifies(
  "auth.jwt:nbf-skew",
  onGate(async (gate) => {
    const claims = { exp: inTenMinutes() };
    expect(await gate.bodyAt((now) => jwt({ ...claims, nbf: now + SKEW_SECONDS }))).toBe("");
    expect(await gate.bodyAt((now) => jwt({ ...claims, nbf: now + SKEW_SECONDS + 1 }))).toBe(NOT_YET);
  }),
);

verifies(
  "auth.jwt:nbf-type",
  onGate(async (gate) => {
    await gate.admits(jwt({ exp: inTenMinutes(), nbf: null }));
    for (const nbf of ["1", 1.5, true, []]) await gate.refuses(jwt({ exp: inTenMinutes(), nbf }), INVALID);
  }),
);

verifies(
  "auth.jwt:other-claims",
  onGate(async (gate) => {
    await gate.admits(jwt({ exp: inTenMinutes(), iat: inTenMinutes(), sub: 3, jti: {}, x: [] }));
    await gate.admits(jwt({ exp: inTenMinutes(), iat: "never" }));
  }),
);

verifies(
  "auth.jwt:repeated-claim",
  onGate(async (gate) => {
    await gate.refuses(jwt(`{"exp":${inTenMinutes()},"exp":${inTenMinutes()}}`), INVALID);
  }),
);

verifies(
  "auth.jwt:unchecked",
  onGate(async (gate) => {
    for (const more of [
      { iss: "x" },
      { iss: null },
      { aud: "x" },
      { aud: ["x", "y"] },
      { aud: [] },
      { aud: null },
    ]) {
      await gate.admits(jwt({ exp: inTenMinutes(), ...more }), JSON.stringify(more));
    }
  }),
);

verifies(
  "auth.jwt:claim-types",
  onGate(async (gate) => {
    for (const more of [{ iss: 3 }, { iss: ["x"] }, { aud: 3 }, { aud: [3] }, { aud: {} }, { aud: true }]) {
      await gate.refuses(jwt({ exp: inTenMinutes(), ...more }), INVALID, JSON.stringify(more));
    }
  }),
);

verifies(
  "auth.jwt:issuer",
  onGate(
    async (gate) => {
      await gate.admits(jwt({ exp: inTenMinutes(), iss: "me" }));
      for (const iss of [undefined, null, "ME", " me ", ""]) {
        await gate.refuses(jwt({ exp: inTenMinutes(), iss }), "websocket jwt issuer mismatch", `${iss}`);
      }
    },
    ["--ws-issuer", "me"],
  ),
);

verifies(
  "auth.jwt:audience",
  onGate(
    async (gate) => {
      for (const aud of ["you", ["you"], ["x", "you"]]) {
        await gate.admits(jwt({ exp: inTenMinutes(), aud }), JSON.stringify(aud));
      }
      for (const aud of [undefined, null, "YOU", "x you", [], ["x", "y"]]) {
        await gate.refuses(
          jwt({ exp: inTenMinutes(), aud }),
          "websocket jwt audience mismatch",
          JSON.stringify(aud),
        );
      }
    },
    ["--ws-audience", "you"],
  ),
);

verifies(
  "auth.jwt:blank-options",
  onGate(
    async (gate) => {
      await gate.admits(jwt({ exp: inTenMinutes() }));
      await gate.admits(jwt({ exp: inTenMinutes(), iss: "x", aud: "y" }));
    },
    ["--ws-issuer", "  ", "--ws-audience", ""],
  ),
);

verifies(
  "auth.jwt:trimmed-options",
  onGate(
    async (gate) => {
      await gate.admits(jwt({ exp: inTenMinutes(), iss: "me", aud: "you" }));
      const spaced = jwt({ exp: inTenMinutes(), iss: " me ", aud: "you" });
      await gate.refuses(spaced, "websocket jwt issuer mismatch");
    },
    ["--ws-issuer", " me ", "--ws-audience", " you"],
  ),
);

verifies(
  "auth.jwt:skew-option",
  onGate(
    async (gate) => {
      const claims = { exp: inTenMinutes() };
      expect(await gate.bodyAt((now) => jwt({ exp: now }))).toBe("");
      expect(await gate.bodyAt((now) => jwt({ exp: now - 1 }))).toBe(EXPIRED);
      expect(await gate.bodyAt((now) => jwt({ ...claims, nbf: now }))).toBe("");
      expect(await gate.bodyAt((now) => jwt({ ...claims, nbf: now + 1 }))).toBe(NOT_YET);
    },
    ["--ws-max-clock-skew-seconds", "0"],
  ),
);

verifies(
  "auth.jwt:skew-greatest",
  onGate(
    async (gate) => {
      await gate.admits(jwt({ exp: 1 }));
      await gate.admits(jwt({ exp: -5 }));
      await gate.admits(jwt({ exp: inTenMinutes(), nbf: inTenMinutes() }));
    },
    ["--ws-max-clock-skew-seconds", "9223372036854775807"],
  ),
);

verifies(
  "auth.jwt:check-order",
  onGate(
    async (gate) => {
      const wrong = { exp: 1, nbf: inTenMinutes(), iss: "x", aud: "x" };
      await gate.refuses(jwt(wrong, { key: "another" }), INVALID);
      await gate.refuses(jwt(wrong), EXPIRED);
      await gate.refuses(jwt({ ...wrong, exp: inTenMinutes() }), NOT_YET);
      const timely = { exp: inTenMinutes(), aud: "x" };
      await gate.refuses(jwt({ ...timely, iss: "x" }), "websocket jwt issuer mismatch");
      await gate.refuses(jwt({ ...timely, iss: "me" }), "websocket jwt audience mismatch");
    },
    ["--ws-issuer", "me", "--ws-audience", "you"],
  ),
);
