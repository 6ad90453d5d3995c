/** The messages between the primary process and its workers. */
import type { Config } from '../../../schemas/options.ts'
import type { Started } from '../start-server.ts'
import type { Snapshot } from './metrics.ts'

export type ToWorker =
  /** The reply to `hello`: the configuration of the worker, with its shares of the limits. */
  | { readonly kind: 'start', readonly config: Config }
  | { readonly kind: 'reload' }
  | { readonly kind: 'shutdown' }
  /** Asks for `snapshot`. */
  | { readonly kind: 'measure' }
  /** The reply to `scrape`: the metrics of all workers. */
  | { readonly kind: 'metrics', readonly text: string }

export type ToPrimary =
  /** The first message of a worker, which loses messages that arrive before it listens for them. */
  | { readonly kind: 'hello' }
  | { readonly kind: 'listening', readonly started: Started }
  /** The worker could not start, and ends. `errors`: the errors of the configuration. */
  | { readonly kind: 'failed', readonly errors: readonly string[] | undefined, readonly message: string, readonly stack: string | undefined }
  | { readonly kind: 'snapshot', readonly snapshot: Snapshot }
  | { readonly kind: 'scrape' }
