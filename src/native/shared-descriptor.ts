import { closeSync } from "node:fs";

/** A descriptor that is closed when its last user releases it. */
export class SharedDescriptor {
  readonly fd: number;
  #users = 1;

  /** The caller is the first user. */
  constructor(fd: number) {
    this.fd = fd;
  }

  share(): this {
    this.#users += 1;
    return this;
  }

  /** Call it once per user. */
  release(): void {
    this.#users -= 1;
    if (this.#users === 0) closeSync(this.fd);
  }
}
