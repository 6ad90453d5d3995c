/** The first screen: where a token comes from. The header: the token, and the colors. */
import { useLayoutEffect, useState } from 'preact/hooks'
import { Choice } from './choice.tsx'
import { Menu } from './menu.tsx'

export function Start () {
  return (
    <section class='start'>
      <h2>See and change rows</h2>
      <p>This page shows the tables that your token may use.</p>
      <ol>
        <li><b>Get a token.</b> The demo prints one when it starts. Otherwise ask the operator of this service, who makes one with
          <pre tabIndex={0}><code>row-query token --name docs --permissions select</code></pre>
          and adds the printed entry to the configuration.
        </li>
        <li><b>Enter it at the top and press Open.</b> It is kept for this tab until the tab is closed, and is sent to this service only.
          If the service knows you without a token, for example by a login, leave the field empty.
        </li>
        <li><b>Choose a table.</b> Before a write, the page shows what would change, and asks.</li>
      </ol>
    </section>
  )
}

const SCHEMES = ['system', 'light', 'dark'] as const
const SCHEME = 'row-query colors'

/** The colors of the system, or those that were chosen on this device. */
export function ColorScheme () {
  const [scheme, setScheme] = useState(() => readSetting() ?? 'system')
  useLayoutEffect(() => { document.documentElement.dataset['colors'] = scheme }, [scheme])
  const choose = (chosen: string): void => {
    setScheme(chosen)
    writeSetting(chosen === 'system' ? undefined : chosen)
  }
  return <Choice label='Colors' value={scheme} options={SCHEMES.map((name) => [name, { system: 'Auto theme', light: 'Light theme', dark: 'Dark theme' }[name]])} onChoice={choose} />
}

function readSetting (): string | null {
  try {
    return localStorage.getItem(SCHEME)
  } catch { // the browser refuses it
    return null
  }
}

function writeSetting (value: string | undefined): void {
  try {
    value === undefined ? localStorage.removeItem(SCHEME) : localStorage.setItem(SCHEME, value)
  } catch {}
}

interface SignInProps {
  /** The token that the page was opened with. */
  readonly token: string
  readonly onToken: (token: string) => void
  readonly onForget: () => void
  /** Whether new tabs get the token. */
  readonly isShared: boolean
  readonly onShared: (isShared: boolean) => void
}

export function SignIn ({ token, onToken, onForget, isShared, onShared }: SignInProps) {
  if (token !== '') {
    return (
      <Menu label='Token' mark='key'>
        {(close) => (
          <>
            <p class='muted'>The token is kept in this tab, until it is closed.</p>
            <label class='switch'><input type='checkbox' role='switch' checked={isShared} onChange={({ currentTarget }) => onShared(currentTarget.checked)} />New tabs use the token</label>
            <p class='muted'>They ask this tab for it. Any other page of this address could ask, too.</p>
            <p class='buttons'><button type='button' onClick={() => { close(); onForget() }}>Forget the token</button> <span class='muted'>in all tabs</span></p>
          </>
        )}
      </Menu>
    )
  }
  return (
    <form class='sign-in' autocomplete='off' onSubmit={(event) => { event.preventDefault(); onToken(new FormData(event.currentTarget).get('token') as string) }}>
      <label>Token <input name='token' type='password' spellcheck={false} autocomplete='off' autofocus /></label>
      <button class='main'>Open</button>
    </form>
  )
}
