import { describe, expect, it } from "vitest";
import { RpcFailure } from "../fault/session-client.ts";
import { AttackedServer } from "./attacked-server.ts";
import { hostileRounds, randomOf, withSeed } from "./hostile-run.ts";
import { CERTIFICATE, type Hop, RedirectOrigins } from "./redirect-origins.ts";

const CHAINS = 150;
const SECRET = "secret-of-the-first-origin";
const CREDENTIALS = ["Authorization", "Cookie", "Proxy-Authorization", "WWW-Authenticate"];

describe("credentials of a request that is redirected along a random chain of origins", () => {
  it("reach the first origin, and no other scheme, host or port, nor the first one again behind one", () =>
    withSeed(async () => {
      await using origins = await RedirectOrigins.listen(2);
      await using target = await AttackedServer.start({
        through: ["env", `NODE_EXTRA_CA_CERTS=${CERTIFICATE}`, `SSL_CERT_FILE=${CERTIFICATE}`],
      });
      const random = randomOf("credentials");
      const session = await target.session();
      let [kept, dropped] = [0, 0];
      for (let index = 0; index < CHAINS * hostileRounds; index++) {
        const chain = `c${index}`;
        const first = random.pick(origins.origins);
        const path = [first];
        const hops: Hop[] = [];
        for (let step = random.between(1, 5); step > 0; step--) {
          const here = path.at(-1) ?? first;
          const host = new URL(here).hostname;
          // The same host under another scheme or port is what a careless comparison takes for the same.
          const next = random.pick([
            here,
            random.pick(origins.origins),
            random.pick(origins.origins.filter((origin) => new URL(origin).hostname === host)),
          ]);
          const place = `/${chain}/${hops.length + 1}`;
          const { host: authority } = new URL(next);
          const forms = [
            `${next}${place}`,
            `${next.toUpperCase()}${place}`,
            next.replace("://", `://${random.pick(["", "u@", "u:p@"])}`) + place,
          ];
          if (next === here) forms.push(place, `./${hops.length + 1}`, `/x/..${place}`);
          if (new URL(next).protocol === new URL(here).protocol)
            forms.push(`//${authority}${place}`, `\\\\${authority}${place}`);
          hops.push({ status: random.pick([301, 302, 303, 307, 308]), location: random.pick(forms) });
          path.push(next);
        }
        origins.setChain(chain, hops);
        const names = CREDENTIALS.filter(() => random.next() < 0.7);
        const spelled = (name: string): string => random.pick([name, name.toLowerCase(), name.toUpperCase()]);
        await session
          .request("http/request", {
            method: random.pick(["GET", "POST", "PUT"]),
            url: `${first}/${chain}/0`,
            requestId: chain,
            headers: [
              ...names.map((name) => ({ name: spelled(name), value: SECRET })),
              { name: "X-Harmless", value: "kept" },
            ],
            ...(random.next() < 0.3 ? { bodyBase64: "eA==" } : {}),
          })
          .catch((error: unknown) => {
            if (!(error instanceof RpcFailure)) throw error;
          });
        const seen = origins.seen.splice(0);
        expect(seen.length, first).toBeGreaterThan(0);
        for (const [step, request] of seen.entries()) {
          const isFirst = seen.slice(0, step + 1).every(({ origin }) => origin === seen[0]?.origin);
          const told = CREDENTIALS.filter((name) =>
            (request.headers[name.toLowerCase()] ?? "").includes(SECRET),
          );
          const what = `${seen.map(({ origin }) => origin).join(" -> ")} (${hops.map(({ location }) => location).join(" ")}), step ${step}`;
          if (isFirst) {
            expect(told, what).toEqual(names);
            kept += step > 0 ? 1 : 0;
          } else {
            expect(told, what).toEqual([]);
            expect(request.headers["x-harmless"], what).toBe("kept");
            dropped += 1;
          }
        }
      }
      expect(kept).toBeGreaterThan(CHAINS / 10);
      expect(dropped).toBeGreaterThan(CHAINS / 2);
      session.cut();
      await origins[Symbol.asyncDispose]();
      await target.expectUnharmed("afterwards");
    }));
});
