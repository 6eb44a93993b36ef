// The keys of the server that has API_KEYS.
export const KEYS = { ann: "ann-key-0123456789", bob: "bob-key-0123456789" };
