import { enableCompileCache } from 'node:module'

/** What must happen before a command is loaded: signals are caught, and in a clone its code is taken from a cache. */
export async function prepare (command: string | undefined): Promise<void> {
  const { filename, dirname } = import.meta
  // removing the types takes most of the time of a short command
  if (filename.endsWith('.ts')) enableCompileCache(`${dirname}/../../node_modules/.cache/row-query`)
  const { catchReloadSignal, stop } = await import('./signals.ts')
  if (command === 'serve') catchReloadSignal()
  if (command === 'export' || command === 'import') stop.listen()
}
