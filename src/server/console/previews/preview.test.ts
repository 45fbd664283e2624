import type { IncomingMessage } from "node:http";
import { expect, it } from "vitest";
import { ownCookie } from "./forward.ts";
import { Preview } from "./preview.ts";

const TARGET = { port: 8080, host: "127.0.0.1" };

const asking = (cookie?: string) => ({ headers: { cookie } }) as unknown as IncomingMessage;

/** A preview whose page has lost its rights. It counts how often it asked, and what it connected to. */
function forbidden() {
  const calls: string[] = [];
  const preview = new Preview(TARGET, "Bearer shown", {
    admit: async (authorization, from) => {
      calls.push(`admit ${authorization} ${from}`);
      return { refusal: "the token was revoked" };
    },
    connect: () => Promise.reject(new Error("connected without rights")),
  });
  return { preview, calls };
}

it("the cookie of a preview is found among others, and only by its whole name", () => {
  expect(ownCookie("a=1; exec-server-preview=x; b=2")).toBe("x");
  expect(ownCookie("exec-server-preview=x=y")).toBe("x=y");
  for (const header of ["", "exec-server-preview", "xexec-server-preview=x", "exec-server-previews=x", ";;"])
    expect([header, ownCookie(header)]).toEqual([header, undefined]);
});

it("only the cookie of this preview admits a browser", () => {
  const { preview } = forbidden();
  const { preview: other } = forbidden();
  const cookie = `exec-server-preview=${preview.secret}`;
  expect(preview.admits(asking(cookie))).toBe(true);
  expect(preview.admits(asking(`a=1; ${cookie}`))).toBe(true);
  for (const wrong of [
    undefined,
    "exec-server-preview=",
    cookie.slice(0, -1),
    `${cookie}x`,
    `exec-server-preview=${other.secret}`,
    // The first one counts, as in every server.
    `exec-server-preview=x; ${cookie}`,
  ])
    expect([wrong, preview.admits(asking(wrong))]).toEqual([wrong, false]);
});

it("names and secrets are not to be guessed", () => {
  const made = Array.from({ length: 100 }, () => forbidden().preview);
  expect(new Set(made.flatMap(({ name, secret }) => [name, secret])).size).toBe(200);
  expect(made[0]).toMatchObject({
    name: expect.stringMatching(/^[0-9a-f]{40}$/) as unknown,
    secret: expect.stringMatching(/^[\w-]{43}$/) as unknown,
  });
});

it("what the page has shown is checked before each connection; once it is refused, the preview is over", async () => {
  const { preview, calls } = forbidden();
  await expect(preview.dial("127.0.0.1:5")).rejects.toThrow("This preview is over");
  expect(calls).toEqual(["admit Bearer shown 127.0.0.1:5"]);
  expect(preview.ended).toBe(true);
});

it("a preview that has ended opens no connection that was being opened", async () => {
  let admit: ((admission: { credential: undefined }) => void) | undefined;
  const preview = new Preview(TARGET, "Bearer shown", {
    admit: () => new Promise((resolve) => (admit = resolve)),
    connect: () => Promise.reject(new Error("not reached")),
  });
  const dialled = preview.dial("127.0.0.1:5");
  preview.end();
  admit?.({ credential: undefined });
  await expect(dialled).rejects.toThrow("This preview is over");
});
