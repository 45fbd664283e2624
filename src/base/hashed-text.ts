/**
 * V8 hashes longer text by its length alone, so n such texts of one length, used as keys of an object, a map or a set,
 * are compared n² times: 3000 of 20 000 characters take twenty seconds. Text from a peer must not become a key beyond
 * this length.
 */
export const MAX_HASHED_CHARACTERS = 16_383;
