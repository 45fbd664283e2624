type Koffi = typeof import("koffi");

/** A user as the system lists it, in its files or wherever else it looks. */
export interface PasswordEntry {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  readonly shell: string;
}

/** `getpwnam` and `getpwuid` return structures with pointers, so they are not declared like other functions. */
export function passwordLookup(
  koffi: Koffi,
  library: ReturnType<Koffi["load"]>,
): (user: string | number) => PasswordEntry | undefined {
  const entry = koffi.struct({
    name: "const char *",
    password: "const char *",
    uid: "uint32_t",
    gid: "uint32_t",
    comment: "const char *",
    home: "const char *",
    shell: "const char *",
  });
  const byName = library.func("getpwnam", koffi.pointer(entry), ["const char *"]);
  const byNumber = library.func("getpwuid", koffi.pointer(entry), ["uint32_t"]);
  return (user) => {
    const found: unknown = typeof user === "number" ? byNumber(user) : byName(user);
    return found === null ? undefined : (koffi.decode(found, entry) as PasswordEntry);
  };
}
