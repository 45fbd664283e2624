import { describe, expect, it } from "vitest";
import { maskSecrets } from "./masked-secrets.ts";
import { replaceAllText } from "./replacement.ts";
import { type ProviderConfig, type SecretProvider, secretProviders } from "./secret-provider.ts";
import { UrlPrefix } from "./url-prefix.ts";

const SECRET = "k-abcdefghijklmnopqrst";

function provider(rest: Partial<ProviderConfig> = {}): ProviderConfig {
  return {
    env: ["A_KEY"],
    patterns: ["k-[a-z]{20}"],
    urlPrefixes: ["https://a.test"],
    urlPrefixFromEnv: undefined,
    auth: [],
    header: undefined,
    prefix: undefined,
    ...rest,
  };
}

const serverProvider: SecretProvider = {
  env: ["A_KEY"],
  auth: ["bearer"],
  header: undefined,
  headerPrefix: "",
  prefixes: [],
  destinations: () => [new UrlPrefix("a.test")],
};

function mask(env: Record<string, string>, rest: Partial<ProviderConfig> = {}) {
  const providers = secretProviders(new Map([["vendor", provider(rest)]]));
  const masked = maskSecrets(new Map(Object.entries(env)), { held: [], providers });
  return { ...masked, values: Object.fromEntries(masked.env) };
}

const to = (host: string, path = "/") => ({ scheme: "https" as const, host, port: 443, path });

describe("an environment", () => {
  it("has no secret in any variable", () => {
    const { env, values } = mask({
      A_KEY: ` ${SECRET}\n`,
      B: SECRET,
      C: `x=${SECRET}&y=${SECRET}`,
      D: "k-other",
    });
    expect([...env.values()].join("\n")).not.toContain(SECRET);
    expect(values["A_KEY"]?.trim()).toBe(values["B"]);
    expect(values["C"]).toBe(`x=${values["B"]}&y=${values["B"]}`);
    expect(values["D"]).toBe("k-other");
  });

  it("leaves out what cannot be replaced", () => {
    expect(mask({ A_KEY: "short" }).env.has("A_KEY")).toBe(false);
    expect(mask({ A_KEY: "" }).env.get("A_KEY")).toBe("");
  });

  it.each(["abc123", "p\u00e4ssw\u00f6rt-p\u00e4ssw\u00f6rt", "!@#$^&*()_+-=[]{}|!"])(
    "leaves out what contains %s, which cannot be replaced",
    (secret) => {
      const { values } = mask({ A_KEY: secret, URL: `db://me:${secret}@a.test`, OTHER: "x" });
      expect(values).toMatchObject({ OTHER: "x" });
      expect(Object.keys(values)).not.toContain("A_KEY");
      expect(Object.keys(values)).not.toContain("URL");
    },
  );

  it("leaves variables that contain a very short value by chance", () => {
    expect(mask({ A_KEY: "1", PATH: "/1", B: "1" }).values).toMatchObject({ PATH: "/1" });
    expect(mask({ A_KEY: "1", B: "1" }).env.has("B")).toBe(false);
  });

  it.each(["base64", "base64url", "hex"] as const)("has no secret in %s either", (form) => {
    const { values } = mask({ A_KEY: SECRET, AUTH: Buffer.from(`me:${SECRET}`).toString(form) });
    const seen = Buffer.from(values["AUTH"]!, form).toString("latin1");
    expect(seen).not.toContain(SECRET.slice(2, -2));
    expect(seen).toContain(values["A_KEY"]!.slice(2, -2));
  });

  it("hides a secret whose destination is unknown", () => {
    const { values, secrets } = mask({ A_KEY: SECRET }, { urlPrefixes: [], urlPrefixFromEnv: "A_URL" });
    expect(values["A_KEY"]).not.toBe(SECRET);
    expect(secrets.isForHost(to("a.test"))).toBe(false);
  });

  it("replaces the longer of two secrets that begin alike", () => {
    const { values } = mask({ A_KEY: SECRET, B_KEY: `${SECRET}0123456789` }, { env: ["A_KEY", "B_KEY"] });
    expect(values["B_KEY"]).not.toContain(SECRET);
    expect(values["B_KEY"]).not.toContain(values["A_KEY"]);
  });
});

describe("a secret of the server", () => {
  const value = { values: [SECRET], current: SECRET as string | undefined, refresh: () => undefined };
  const held = [{ value, provider: serverProvider }];

  it("comes before what a client's provider finds, so that none of it goes elsewhere", () => {
    const given = new Map(
      Object.entries({ COPY: SECRET, LONGER: `x${SECRET}y`, A_KEY: "k-from-the-client-itself" }),
    );
    const providers = secretProviders(
      new Map([
        ["thief", provider({ env: ["COPY", "LONGER", "A_KEY"], urlPrefixes: ["https://thief.test"] })],
      ]),
    );
    const { env, secrets } = maskSecrets(given, { held, providers });
    const all = [...env.values()].join("\n");
    expect(all).not.toContain(SECRET);
    expect(all).not.toContain("from-the-client");
    for (const name of ["COPY", "LONGER", "A_KEY"])
      expect(
        JSON.stringify(secrets.outgoing(to("thief.test"), ["Authorization", `Bearer ${env.get(name)}`])),
      ).not.toContain(SECRET.slice(2));
    expect(secrets.outgoing(to("a.test"), ["Authorization", `Bearer ${env.get("A_KEY")}`])).toEqual({
      headers: ["Authorization", `Bearer ${SECRET}`],
    });
  });

  it("changes, and both values are replaced in answers", () => {
    const next = "k-0123456789abcdefghijklmnopqrstuvwxyz";
    const changing = { ...value };
    const { env, secrets } = maskSecrets(new Map(), {
      held: [{ value: changing, provider: serverProvider }],
      providers: [],
    });
    const header = ["Authorization", `Bearer ${env.get("A_KEY")}`];
    const before = secrets.restoring!();
    expect(secrets.restoring!()).toBe(before);
    Object.assign(changing, { values: [next, SECRET], current: next });
    expect(secrets.outgoing(to("a.test"), header)).toEqual({ headers: ["Authorization", `Bearer ${next}`] });
    const restored = replaceAllText(`${SECRET} ${next}`, secrets.restoring!());
    expect(restored).not.toContain(SECRET);
    expect(restored).not.toContain(next.slice(2));
    expect(restored).toHaveLength(SECRET.length + next.length + 1);
    Object.assign(changing, { current: undefined });
    expect(secrets.outgoing(to("a.test"), header)).toBe("unavailable");
    expect(secrets.outgoing(to("a.test"), [])).toEqual({ headers: [] });
    expect(secrets.outgoing(to("b.test"), header)).toBe("misdirected");
  });
});

describe("a request", () => {
  const { values, secrets } = mask({ A_KEY: SECRET, GH_TOKEN: "ghp_abcdefghijklmnopqrstuvwxyz0123456789" });
  const standIn = values["A_KEY"]!;

  it("gets the secret only for its own host", () => {
    const headers = ["Authorization", `Bearer ${standIn}`, "X", standIn];
    expect(secrets.outgoing(to("a.test"), headers)).toEqual({
      headers: ["Authorization", `Bearer ${SECRET}`, "X", standIn],
    });
    for (const host of ["b.test", "api.github.com", "x.a.test"])
      expect(secrets.outgoing(to(host), headers)).toBe("misdirected");
    expect(secrets.outgoing({ ...to("a.test"), port: 8443 }, headers)).toBe("misdirected");
    expect(secrets.outgoing({ ...to("a.test"), scheme: "http" }, headers)).toBe("misdirected");
  });

  it("keeps several secrets apart", () => {
    const github = values["GH_TOKEN"]!;
    expect(secrets.outgoing(to("api.github.com"), ["authorization", `token ${github}`])).toEqual({
      headers: ["authorization", "token ghp_abcdefghijklmnopqrstuvwxyz0123456789"],
    });
    expect(secrets.outgoing(to("a.test"), ["authorization", `Bearer ${github}`])).toBe("misdirected");
  });

  it.each([
    ["Bearer", "token", "Basic"].map((scheme) => `${scheme}  x`),
    ["Bearer", `Bearer ${standIn} x`, `Bearerx ${standIn}`, standIn, `token ${standIn}`],
  ])("is not changed by %s", (...values_) => {
    for (const value of values_)
      expect(secrets.outgoing(to("a.test"), ["Authorization", value])).toEqual({
        headers: ["Authorization", value],
      });
  });

  it("may repeat a header", () => {
    const twice = ["Authorization", `Bearer ${standIn}`, "authorization", `bearer ${standIn}`];
    expect(secrets.outgoing(to("a.test"), twice)).toEqual({
      headers: ["Authorization", `Bearer ${SECRET}`, "authorization", `bearer ${SECRET}`],
    });
  });
});
