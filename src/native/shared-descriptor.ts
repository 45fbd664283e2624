import { closeSync } from "node:fs";

/** A descriptor that is closed when the last of its users lets go of it. */
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

  /** To be called once by each user. */
  release(): void {
    this.#users -= 1;
    if (this.#users === 0) closeSync(this.fd);
  }
}
