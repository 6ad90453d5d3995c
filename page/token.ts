/** The token that the demo puts into the fragment of the address. */

/** `#token=…` is taken out of the address at once. What may follow after `&` is a route. */
export function takeToken (): string | undefined {
  const [, token, rest = ''] = /^#token=([^&]*)(?:&(.*))?$/.exec(location.hash) ?? []
  if (token === undefined) return undefined
  history.replaceState(null, '', `${location.pathname}${rest === '' ? '' : `#${rest}`}`)
  try {
    return decodeURIComponent(token)
  } catch { // a % that begins no character
    return token
  }
}
