import { ConnectionError } from "../../../base/errors.ts";
import type { NamedFleet } from "./target.ts";
import { Failure, oneLine } from "../../shared/failure.ts";

/** The message when a fleet cannot be used: which one, and what to do. Other errors stay as they are. */
export function fleetFailure(error: unknown, { name, address }: Omit<NamedFleet, "token">): unknown {
  if (!(error instanceof ConnectionError)) return error;
  if (error.code === "UNAUTHORIZED")
    return new Failure(
      `${oneLine(error.message)}; set the token of its server as auth_bearer_token of [fleets.${name}] in hosts.toml, or with --token-file`,
    );
  const servers = [address.servers].flat().join(", ");
  const remedy = remedyFor(error, name);
  return new Failure(`fleet '${name}' at ${servers}: ${oneLine(error.message)}${remedy}`);
}

function remedyFor({ status, errno }: ConnectionError, name: string): string {
  switch (status) {
    case 401:
      return `; check what [fleets.${name}] of hosts.toml logs in with`;
    case 403:
      return "; the permissions of its user in the configuration of NATS decide about that";
    case undefined:
      return errno === undefined ? "" : "; is NATS running there?";
    default:
      return "";
  }
}
