/** Reloads at SIGHUP, which is caught from the start, because a signal without a handler would end the process. */

let reload: (() => void) | undefined
let isDue = false

/** Reloads at once, or when the process is ready: it may have read its files before the signal. */
export function requestReload (): void {
  if (reload === undefined) isDue = true
  else reload()
}

export function catchReloadSignal (): void {
  process.on('SIGHUP', requestReload)
}

/** Sets how this process reloads, once it is ready. */
export function onReload (use: () => void): void {
  reload = use
  if (isDue) use()
}
