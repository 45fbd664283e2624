import { CapabilityError } from "../../base/errors.ts";

/** Variables with the server's own credentials, which no request may carry out of the machine. */
const DENIED = new Set([
  "OPENAI_FEDERATION_RULE_ID",
  "OPENAI_IDENTITY_TOKEN_FILE",
  "OPENAI_API_KEY",
  "CODEX_API_KEY",
  "CODEX_ACCESS_TOKEN",
  "CODEX_CONNECTORS_TOKEN",
  "AWS_ACCESS_KEY_ID",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "AZURE_CLIENT_SECRET",
  "AZURE_FEDERATED_TOKEN_FILE",
  "GOOGLE_APPLICATION_CREDENTIALS",
  "CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN",
]);

/** The value of an environment variable of this machine, for a header. */
export function readHeaderVariable(
  header: string,
  variable: string,
  environment: Readonly<Record<string, string | undefined>>,
): string {
  if (DENIED.has(variable.toUpperCase()))
    throw refusal(`http/request header ${header} cannot use executor environment variable ${variable}`);
  const value = environment[variable];
  if (value === undefined)
    throw refusal(`http/request header ${header} requires executor environment variable ${variable}`);
  if (value === "")
    throw refusal(
      `http/request header ${header} requires a non-empty executor environment variable ${variable}`,
    );
  return value;
}

function refusal(message: string): CapabilityError {
  return new CapabilityError("INVALID_INPUT", message);
}
