import { BlockList, isIPv4, isIPv6 } from "node:net";

/** The one spelling of an IP address that is compared and shown; undefined if the text is not an address. */
export function canonicalIp(text: string): string | undefined {
  if (isIPv4(text)) return text;
  // A zone belongs to one machine's interfaces, and no name or rule needs it.
  if (!isIPv6(text) || text.includes("%")) return undefined;
  const compressed = new URL(`http://[${text}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(compressed);
  return mapped === null ? compressed : `::ffff:${dotted(mapped[1]!, mapped[2]!)}`;
}

/** The IPv4 address to which packets for this canonical IPv6 address go in the end, if there is one. */
export function embeddedIpv4(ip: string): string | undefined {
  if (isIPv4(ip)) return undefined;
  const groups = groupsOf(ip);
  const [first, second] = groups;
  const isMapped = groups.slice(0, 5).every((group) => group === "0") && groups[5] === "ffff";
  const isNat64 = first === "64" && second === "ff9b" && groups.slice(2, 6).every((group) => group === "0");
  if (isMapped || isNat64) return dotted(groups[6]!, groups[7]!);
  // 6to4
  return first === "2002" ? dotted(groups[1]!, groups[2]!) : undefined;
}

/**
 * True for addresses that are not on the public internet: loopback, private, link-local, shared, multicast,
 * documentation and reserved ones, in every form in which IPv6 can carry them.
 */
export function isLocalIp(ip: string): boolean {
  if (isIPv4(ip)) return LOCAL.check(ip, "ipv4");
  const embedded = embeddedIpv4(ip);
  return LOCAL.check(ip, "ipv6") || (embedded !== undefined && LOCAL.check(embedded, "ipv4"));
}

export function isLoopbackIp(ip: string): boolean {
  const embedded = embeddedIpv4(ip);
  return ip === "::1" || (embedded ?? ip).startsWith("127.");
}

const LOCAL = localAddresses();

function localAddresses(): BlockList {
  const list = new BlockList();
  const ranges = {
    ipv4: [
      "0.0.0.0/8",
      "10.0.0.0/8",
      "100.64.0.0/10",
      "127.0.0.0/8",
      "169.254.0.0/16",
      "172.16.0.0/12",
      "192.0.0.0/24",
      "192.0.2.0/24",
      "192.88.99.0/24",
      "192.168.0.0/16",
      "198.18.0.0/15",
      "198.51.100.0/24",
      "203.0.113.0/24",
      "224.0.0.0/4",
      "240.0.0.0/4",
    ],
    ipv6: [
      // Unspecified, loopback, and the old IPv4-compatible addresses.
      "::/96",
      "64:ff9b:1::/48",
      "100::/64",
      // Teredo, benchmarks, and other assignments that are no hosts.
      "2001::/23",
      "2001:db8::/32",
      "3fff::/20",
      "fc00::/7",
      "fe80::/9",
      "ff00::/8",
    ],
  } as const;
  for (const family of ["ipv4", "ipv6"] as const)
    for (const range of ranges[family]) {
      const [network, prefix] = range.split("/");
      list.addSubnet(network!, Number(prefix), family);
    }
  return list;
}

function dotted(high: string, low: string): string {
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return `${a >> 8}.${a & 255}.${b >> 8}.${b & 255}`;
}

function hexGroups(ipv4: string): string {
  const [a, b, c, d] = ipv4.split(".").map(Number) as [number, number, number, number];
  return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}

/** The eight groups of a canonical IPv6 address, in hexadecimal without leading zeros. */
function groupsOf(ip: string): string[] {
  const last = ip.slice(ip.lastIndexOf(":") + 1);
  const hex = last.includes(".") ? ip.slice(0, -last.length) + hexGroups(last) : ip;
  const [before = "", after] = hex.split("::");
  const head = before === "" ? [] : before.split(":");
  if (after === undefined) return head;
  const tail = after === "" ? [] : after.split(":");
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => "0"), ...tail];
}
