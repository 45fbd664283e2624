import { pause } from "../../../base/deadlines.ts";
import type { Logger } from "../../../base/logger.ts";
import { RelayService } from "../../../relay/service/relay-service.ts";
import { RefusalLog } from "../../../server/access/refusal-log.ts";
import { TlsFiles } from "../../../server/access/tls-files.ts";
import { Audit } from "../../../server/audit/audit.ts";
import { describeFileError, Failure, usageFailure } from "../../shared/failure.ts";
import { writeOut } from "../../shared/standard-streams.ts";
import { VERSION } from "../../shared/version.ts";
import { AUDIT_FLAGS, parseAudit } from "../audit-flags.ts";
import { type Flags, parseFlags } from "../flags.ts";
import { LOG_FLAGS, parseLog } from "../log.ts";
import { isLocal, type ListenAddress, parseListenUrl, parsePublicUrl } from "./listen-url.ts";
import { admitOwnUser, admitTokens } from "./relay-access.ts";
import { recorder } from "./relay-log.ts";

const DRAIN_MS = 10_000;
const DRAIN_POLL_MS = 100;

const FLAGS = {
  listen: "URL",
  "public-url": "URL",
  tokens: "PATH",
  "tls-cert": "PATH",
  "tls-key": "PATH",
  ...AUDIT_FLAGS,
  ...LOG_FLAGS,
};

/** Runs a relay until it is stopped. */
export async function runRelay(args: readonly string[]): Promise<void> {
  const flags = parseFlags(args, { values: FLAGS });
  const address = parseListenUrl(flags.get("listen") ?? "http://127.0.0.1:0");
  const publicUrl = flags.has("public-url") ? parsePublicUrl(flags.get("public-url")!) : undefined;
  checkExposure(flags, address, publicUrl);
  const auditOptions = parseAudit(flags, undefined);
  const { logger } = parseLog(flags)("info", {});
  const audit = auditOptions && Audit.open(auditOptions, { logger, version: VERSION });
  const table = flags.get("tokens");
  const authenticate =
    table === undefined
      ? admitOwnUser(logger)
      : await admitTokens(table, logger, (token) => service.revoke(token));
  const tls = address.isSecure
    ? new TlsFiles({ cert: flags.get("tls-cert")!, key: flags.get("tls-key")! }, logger)
    : undefined;
  const strangers = new RefusalLog(logger);
  const service = new RelayService({
    authenticate,
    isOpen: table === undefined,
    publicUrl,
    record: recorder(logger, audit),
    mayAdmit: () => audit?.isRefusing !== true,
    tls: tls?.load(),
    failed: (reason, from) => strangers.refused(reason, from, "a connection was not accepted"),
  });
  const url = await service.listen(address.host, address.port).catch((error: unknown) => {
    throw new Failure(`cannot listen on ${flags.get("listen")}: ${describeFileError(error)}`);
  });
  tls?.watch((material) => service.renewTls(material));
  endOnSignals(service, audit, logger);
  await writeOut(`${publicUrl ?? url}\n`);
}

function checkExposure(flags: Flags, address: ListenAddress, publicUrl: string | undefined): void {
  const isReachable = !isLocal(address.url) || (publicUrl !== undefined && !isLocal(publicUrl));
  if (isReachable && !flags.has("tokens"))
    throw usageFailure(
      "'--tokens <PATH>' is required beyond this machine: anyone who reaches the relay could take over its executors",
    );
  if (!isLocal(address.url) && !address.isSecure)
    throw usageFailure(
      "'--listen https://…' is required beyond this machine: anyone on the way could read the tokens",
    );
  for (const name of ["tls-cert", "tls-key"])
    if (address.isSecure !== flags.has(name))
      throw usageFailure(
        address.isSecure
          ? "'--listen https://…' needs '--tls-cert <PATH>' and '--tls-key <PATH>'"
          : `the argument '${flags.usage(name)}' needs '--listen https://IP:PORT'`,
      );
}

/** SIGTERM lets streams end for a while; SIGINT, and any second signal, does not. */
function endOnSignals(service: RelayService, audit: Audit | undefined, logger: Logger): void {
  let isStopping = false;
  const end = async (): Promise<never> => {
    await service.close();
    await audit?.close();
    process.exit(0);
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const)
    process.on(signal, () => {
      logger.info("stopping", { signal });
      if (isStopping || signal === "SIGINT") void end();
      else {
        service.drain();
        void drained(service).then(end);
      }
      isStopping = true;
    });
}

async function drained(service: RelayService): Promise<void> {
  const { signal } = new AbortController();
  const until = performance.now() + DRAIN_MS;
  while (service.streams > 0 && performance.now() < until) await pause(DRAIN_POLL_MS, signal);
}
