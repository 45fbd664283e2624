import { check, libc } from "./libc.ts";

const AF_UNIX = 1;
const SOCK_DGRAM_CLOEXEC = 2 | 0o2000000;

/**
 * Tells the service manager that has started this program that it is ready: `path` is the NOTIFY_SOCKET of systemd. Throws
 * the system's error.
 */
export function notifyReady(path: string): void {
  const name = Buffer.from(path);
  // A name that belongs to no file.
  if (name[0] === 0x40) name[0] = 0;
  const family = Buffer.alloc(2);
  family.writeUInt16LE(AF_UNIX);
  const address = Buffer.concat([family, name]);
  const message = Buffer.from("READY=1");
  const fd = check(libc().socket(AF_UNIX, SOCK_DGRAM_CLOEXEC, 0));
  try {
    check(libc().connect(fd, address, address.length));
    check(libc().write(fd, message, message.length));
  } finally {
    libc().close(fd);
  }
}
