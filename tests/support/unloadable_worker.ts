/** A worker that dies while its code is loaded. */
throw new Error("a worker that cannot be loaded");
