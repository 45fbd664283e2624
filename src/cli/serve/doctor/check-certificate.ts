import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { messageOf } from "../../../base/errors.ts";
import { silentLogger } from "../../../base/logger.ts";
import { type ServerTls, TlsFiles } from "../../../server/access/tls-files.ts";
import { type Check, failed, passed } from "./check.ts";

const NAME = "certificate";
const DAY_MS = 24 * 60 * 60 * 1000;
/** Certificates that renew themselves do so earlier. */
const SOON_DAYS = 14;

/** Whether a server can use its certificate, and clients that reach it by these hosts can verify it. */
export function checkCertificate(
  tls: ServerTls,
  hosts: readonly string[],
  nowMs: number = Date.now(),
): Check {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(new TlsFiles(tls, silentLogger).load().cert);
  } catch (error) {
    return failed(
      NAME,
      messageOf(error),
      "--tls-cert and --tls-key need a certificate and its own key, in PEM format",
    );
  }
  const { validFrom, validTo, subjectAltName = "" } = certificate;
  const [from, to] = [Date.parse(validFrom), Date.parse(validTo)];
  if (nowMs < from)
    return failed(
      NAME,
      `it is not valid before ${dayOf(from)}, and this machine's clock says ${dayOf(nowMs)}`,
      "set the clock: timedatectl set-ntp true",
    );
  if (nowMs > to) return failed(NAME, `it expired on ${dayOf(to)}`, RENEW);
  const days = Math.floor((to - nowMs) / DAY_MS);
  if (days < SOON_DAYS)
    return failed(NAME, `it expires on ${dayOf(to)}, in ${days} ${days === 1 ? "day" : "days"}`, RENEW);
  const names = subjectAltName.split(", ").map((name) => name.replace(/^(?:DNS|IP Address):/, ""));
  if (subjectAltName === "")
    return failed(
      NAME,
      "it names no host: it has no subject alternative name, so clients refuse it",
      "get one with the names and addresses by which clients reach this server",
    );
  const missing = hosts.filter((host) => !covers(certificate, host));
  if (missing.length > 0)
    return failed(
      NAME,
      `it is for ${names.join(", ")}, but clients reach this server as ${missing.join(", ")}`,
      "get one with all of these names and addresses",
    );
  return passed(NAME, `valid until ${dayOf(to)}, for ${names.join(", ")}`);
}

const RENEW = "renew it; a running server reads the new files within a second";

function covers(certificate: X509Certificate, host: string): boolean {
  const found =
    isIP(host) === 0 ? certificate.checkHost(host, { subject: "never" }) : certificate.checkIP(host);
  return found !== undefined;
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
