/**
 * V8 hashes longer text by its length alone, so as keys of an object, a map or a set, n such texts of one length are
 * compared n² times: 3000 of 20 000 characters take twenty seconds. Text of a peer must not become a key beyond this.
 */
export const MAX_HASHED_CHARACTERS = 16_383;
