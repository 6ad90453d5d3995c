/**
 * The token between the tabs of one browser: a new tab asks, and a tab answers where the person has switched that on. Every page of the same origin can listen, so it
 * is off at first. *Forget the token* reaches all tabs.
 */

/** How long a new tab waits for an answer, in milliseconds. */
const PATIENCE = 400

type Message = { readonly kind: 'ask', readonly from: string } | { readonly kind: 'token', readonly to: string, readonly token: string } | { readonly kind: 'forget' }

export interface Sharing {
  /** The token of another tab; undefined if none gives it. */
  ask (): Promise<string | undefined>
  /** Closes the service in all tabs. */
  forget (): void
  end (): void
}

/** `token`: what this tab gives to others; undefined for nothing. */
export function openSharing (base: string, { token, onForget }: { readonly token: () => string | undefined, readonly onForget: () => void }): Sharing {
  const channel = new BroadcastChannel(`row-query of ${base}`)
  const own = crypto.getRandomValues(new Uint32Array(4)).join('-')
  const send = (message: Message): void => channel.postMessage(message)
  let take = (_token: string): void => {}
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    const given = data.kind === 'ask' ? token() : undefined
    if (data.kind === 'ask' && given !== undefined) send({ kind: 'token', to: data.from, token: given })
    if (data.kind === 'token' && data.to === own) take(data.token)
    if (data.kind === 'forget') onForget()
  }
  return {
    ask: () => new Promise((resolve) => {
      take = resolve
      setTimeout(() => resolve(undefined), PATIENCE)
      send({ kind: 'ask', from: own })
    }),
    forget: () => send({ kind: 'forget' }),
    end: () => channel.close()
  }
}
