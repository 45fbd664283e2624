import { networkInterfaces } from "node:os";
import { embeddedIpv4, isLoopbackIp } from "./ip-address.ts";

/**
 * Ports on which this server listens. Anyone who reaches them can run any command, and the proxies of other processes
 * have other rules, so a process must not reach them through the server itself.
 */
export class OwnListeners {
  readonly #ports = new Set<number>();

  get ports(): readonly number[] {
    return [...this.#ports];
  }

  add(port: number): void {
    this.#ports.add(port);
  }

  remove(port: number): void {
    this.#ports.delete(port);
  }

  /** The same port of another of this machine's addresses counts, too. */
  includes(ip: string, port: number): boolean {
    if (!this.#ports.has(port)) return false;
    const plain = embeddedIpv4(ip) ?? ip;
    if (plain === "0.0.0.0" || plain === "::" || isLoopbackIp(plain)) return true;
    return Object.values(networkInterfaces()).some((addresses) =>
      addresses?.some(({ address }) => address === plain),
    );
  }
}
