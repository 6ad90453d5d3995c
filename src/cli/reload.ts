/** Reloading at SIGHUP. It is caught from the first moment, because a signal without a handler would end the process. */
let reload: (() => void) | undefined
let isDue = false

/** Reloads, or does it as soon as the process can: what it has read so far may be older than the signal. */
export function requestReload (): void {
  if (reload === undefined) isDue = true
  else reload()
}

export function catchReloadSignal (): void {
  process.on('SIGHUP', requestReload)
}

/** Says how this process reloads, from when on it can. */
export function onReload (use: () => void): void {
  reload = use
  if (isDue) use()
}
