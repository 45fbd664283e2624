/** What programs need to run. Those that do not exist are left out. */
export const SYSTEM_DIRECTORIES = [
  "/bin",
  "/etc",
  "/lib",
  "/lib64",
  "/nix/store",
  "/run/current-system/sw",
  "/sbin",
  "/usr",
];
