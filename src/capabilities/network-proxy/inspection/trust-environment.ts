/** Variables in which programs look for the certificates of authorities. Programs do not agree on a single name. */
const TRUST_NAMES = [
  "SSL_CERT_FILE",
  "NODE_EXTRA_CA_CERTS",
  "REQUESTS_CA_BUNDLE",
  "CURL_CA_BUNDLE",
  "GIT_SSL_CAINFO",
  "AWS_CA_BUNDLE",
  "PIP_CERT",
  "NPM_CONFIG_CAFILE",
  "npm_config_cafile",
  "BUNDLE_SSL_CA_CERT",
  "CARGO_HTTP_CAINFO",
  "CODEX_CA_CERTIFICATE",
  "DENO_CERT",
] as const;

/** Variables that point the programs of a process to a bundle, except those that were set for this process. */
export function trustEnvironment(
  bundle: string,
  env: ReadonlyMap<string, string>,
  inherited: Readonly<Record<string, string | undefined>>,
): Map<string, string> {
  const isFree = (name: string): boolean => {
    const value = env.get(name);
    return value === undefined || value === inherited[name];
  };
  return new Map(TRUST_NAMES.filter(isFree).map((name) => [name, bundle]));
}
