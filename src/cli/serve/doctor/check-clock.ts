import { request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import { messageOf } from "../../../base/errors.ts";
import { type Check, failed, passed } from "./check.ts";

const NAME = "clock";
const TIMEOUT_MS = 5_000;
/** Default tolerance of signed tokens, and of most others. */
const TOLERANCE_SECONDS = 30;

/** Compares this machine's clock with that of a server, which every HTTP answer contains. */
export async function checkClock(url: URL): Promise<Check> {
  const before = Date.now();
  let date: string | undefined;
  try {
    date = await askDate(url);
  } catch (error) {
    return failed(
      NAME,
      `${url.host} did not answer: ${messageOf(error)}`,
      "check the address given with --url",
    );
  }
  const theirs = Date.parse(date ?? "");
  if (Number.isNaN(theirs))
    return failed(NAME, `the answer of ${url.host} has no date`, "give the --url of another server");
  const seconds = Math.round(((before + Date.now()) / 2 - theirs) / 1000);
  if (Math.abs(seconds) <= TOLERANCE_SECONDS) return passed(NAME, `it agrees with that of ${url.host}`);
  return failed(
    NAME,
    `it is ${Math.abs(seconds)} s ${seconds > 0 ? "ahead of" : "behind"} that of ${url.host}: tokens and certificates may be refused`,
    "set the clock of the machine that is wrong: timedatectl set-ntp true",
  );
}

function askDate(url: URL): Promise<string | undefined> {
  const isSecure = url.protocol === "https:" || url.protocol === "wss:";
  const { hostname, port } = url;
  return new Promise((resolve, reject) => {
    const request = (isSecure ? requestSecure : requestPlain)({
      host: hostname.replace(/^\[|\]$/g, ""),
      port: port === "" ? undefined : Number(port),
      method: "HEAD",
      path: "/",
      // A certificate may be refused because the clock is wrong, which is what this is about. Nothing secret is sent.
      rejectUnauthorized: false,
      agent: false,
      timeout: TIMEOUT_MS,
    });
    request.once("response", (response) => {
      resolve(response.headers.date);
      response.destroy();
    });
    request.once("timeout", () => request.destroy(new Error(`it took longer than ${TIMEOUT_MS / 1000} s`)));
    request.once("error", reject);
    request.end();
  });
}
