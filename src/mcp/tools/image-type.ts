/** Bytes that begin images which models can see. */
const IMAGES: readonly (readonly [mimeType: string, signature: readonly (number | undefined)[]])[] = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ["image/jpeg", [0xff, 0xd8, 0xff]],
  ["image/gif", [0x47, 0x49, 0x46, 0x38]],
  [
    "image/webp",
    [0x52, 0x49, 0x46, 0x46, undefined, undefined, undefined, undefined, 0x57, 0x45, 0x42, 0x50],
  ],
];

/** The media type of an image that models can see, by its first bytes. */
export function imageType(bytes: Uint8Array): string | undefined {
  const found = IMAGES.find(([, signature]) =>
    signature.every((byte, index) => byte === undefined || bytes[index] === byte),
  );
  return found?.[0];
}
