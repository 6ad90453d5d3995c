/** The program of the page at `{prefix}/docs`. It keeps the token in `sessionStorage`: for one tab, until it is closed. */
import { render } from 'preact'
import { App } from './app.tsx'
import './page.css'
import { openStorage } from './tab-storage.ts'

const base = location.pathname.replace(/\/docs$/, '')
const storage = openStorage(base)
const token = takeToken()
if (token !== undefined) storage.keepToken(token)

render(<App base={base} storage={storage} isPublic={document.body.dataset['documents'] === 'public'} />, document.body)

/** The demo leads to `#token=…`, which is taken out of the address at once. What may follow after `&` is a route. */
function takeToken (): string | undefined {
  const [, token, rest = ''] = /^#token=([^&]*)(?:&(.*))?$/.exec(location.hash) ?? []
  if (token === undefined) return undefined
  history.replaceState(null, '', `${location.pathname}${rest === '' ? '' : `#${rest}`}`)
  return decodeURIComponent(token)
}
