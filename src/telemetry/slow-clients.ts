import type { Socket } from 'node:net'

/** Connections that were closed because their clients received an answer too slowly, for the reason in the log. */
export const slowClients = new WeakSet<Socket>()
