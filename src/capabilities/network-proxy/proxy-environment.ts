import { BlockList, isIP } from "node:net";

/** Addresses that programs reach without the proxy, where local addresses are allowed. */
const LOCAL_ADDRESSES = ["localhost", "127.0.0.1", "::1", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"];

const HTTP_NAMES = [
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "http_proxy",
  "https_proxy",
  "WS_PROXY",
  "WSS_PROXY",
  "ws_proxy",
  "wss_proxy",
  "YARN_HTTP_PROXY",
  "YARN_HTTPS_PROXY",
  "NPM_CONFIG_HTTP_PROXY",
  "NPM_CONFIG_HTTPS_PROXY",
  "NPM_CONFIG_PROXY",
  "npm_config_http_proxy",
  "npm_config_https_proxy",
  "npm_config_proxy",
  "BUNDLE_HTTP_PROXY",
  "BUNDLE_HTTPS_PROXY",
  "PIP_PROXY",
  "DOCKER_HTTP_PROXY",
  "DOCKER_HTTPS_PROXY",
] as const;

/** Programs that know SOCKS may use it for everything. */
const ANY_NAMES = ["ALL_PROXY", "all_proxy", "FTP_PROXY", "ftp_proxy"] as const;

const EXCEPTION_NAMES = [
  "NO_PROXY",
  "no_proxy",
  "NPM_CONFIG_NOPROXY",
  "npm_config_noproxy",
  "BUNDLE_NO_PROXY",
] as const;

/** Variables that point a process's programs to its proxy. Programs do not agree on a single name. */
export function proxyEnvironment({
  httpPort,
  socksPort,
  allowLocal,
  secretHosts = [],
}: {
  httpPort: number;
  socksPort: number | undefined;
  allowLocal: boolean;
  /** Only the proxy has the secrets for them. */
  secretHosts?: readonly string[];
}): Map<string, string> {
  const http = `http://127.0.0.1:${httpPort}`;
  const any = socksPort === undefined ? http : `socks5h://127.0.0.1:${socksPort}`;
  const isException = (place: string): boolean => !secretHosts.some((host) => contains(place, host));
  const exceptions = allowLocal ? LOCAL_ADDRESSES.filter(isException).join(",") : "";
  return new Map<string, string>([
    ...HTTP_NAMES.map((name) => [name, http] as const),
    ...ANY_NAMES.map((name) => [name, any] as const),
    ...EXCEPTION_NAMES.map((name) => [name, exceptions] as const),
    ["CODEX_NETWORK_PROXY_ACTIVE", "1"],
    ["CODEX_NETWORK_ALLOW_LOCAL_BINDING", allowLocal ? "1" : "0"],
    ["NODE_USE_ENV_PROXY", "1"],
    ["ELECTRON_GET_USE_PROXY", "true"],
  ]);
}

function contains(place: string, host: string): boolean {
  const [address = "", bits] = place.split("/");
  if (bits === undefined || isIP(host) !== 4) return address === host;
  const block = new BlockList();
  block.addSubnet(address, Number(bits));
  return block.check(host);
}
