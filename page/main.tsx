/** The program of the page at `{prefix}/docs`. It keeps the token in `sessionStorage`: for one tab, until it is closed. */
import { render } from 'preact'
import { App } from './app.tsx'
import './page.css'
import { openStorage } from './tab-storage.ts'
import { takeToken } from './token.ts'

const base = location.pathname.replace(/\/docs$/, '')
const storage = openStorage(base)
// a link from elsewhere does not replace the token of the tab
const offered = takeToken()
if (offered !== undefined && storage.token === '') storage.keepToken(offered)

render(<App base={base} storage={storage} offered={offered} isPublic={document.body.dataset['documents'] === 'public'} />, document.body)
