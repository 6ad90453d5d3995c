/** The databases and their tables. */
import { useState } from 'preact/hooks'
import { Icon, type IconName } from './icons.tsx'
import { writeRoute, type Route } from './route.ts'
import { useStage } from './stage.tsx'
import type { DatabaseDocument } from './table.ts'

interface SidebarProps {
  readonly databases: readonly string[]
  readonly document: DatabaseDocument
  readonly route: Route
  readonly onDatabase: (name: string) => void
}

/** Tables that are listed at once. */
const MAX_LISTED = 300
const LONG_LIST = 8

export function Sidebar ({ databases, document, route, onDatabase }: SidebarProps) {
  const [search, setSearch] = useState('')
  const [isOpen, setOpen] = useState(false)
  const { requests } = useStage()
  const words = search.toLowerCase().split(/\s+/)
  const isFound = ({ name }: { readonly name: string }): boolean => words.every((word) => name.toLowerCase().includes(word))
  const found = document.tables.filter(isFound)
  const named = requests.filter(isFound)
  const isMap = route.view === 'map'
  const isCall = route.view === 'call'
  const link = (table: string, text: string, icon: IconName) => (
    <a href={writeRoute({ database: document.name, table })} aria-current={!isMap && !isCall && route.table === table ? 'page' : undefined} onClick={() => setOpen(false)}><Icon name={icon} /><span>{text}</span>{icon === 'view' && <span class='view'> view</span>}</a>
  )
  return (
    <nav class='sidebar' aria-label='Tables'>
      {databases.length > 1
        ? <label class='database'><span class='word'>Database</span> <select value={document.name} onChange={({ currentTarget }) => onDatabase(currentTarget.value)}>{databases.map((name) => <option key={name}>{name}</option>)}</select></label>
        : document.name !== '' && <p class='database'><b>{document.name}</b></p>}
      <button type='button' class='toggle' aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>{isMap ? 'Map' : isCall ? route.call : route.table === '' ? 'Several operations' : route.table}<Icon name='down' /></button>
      <div class={isOpen ? 'tables open' : 'tables'}>
        {document.tables.length > 1 && <p class='home'><a href={writeRoute({ database: document.name, table: '', view: 'map' })} aria-current={isMap ? 'page' : undefined} onClick={() => setOpen(false)}><Icon name='map' /><span>Map</span></a></p>}
        {document.tables.length + requests.length > LONG_LIST && <input type='search' aria-label='Search tables' placeholder={`Search ${document.tables.length} tables`} value={search} onInput={({ currentTarget }) => setSearch(currentTarget.value)} />}
        <ul>
          {found.slice(0, MAX_LISTED).map(({ name, isView }) => <li key={name}>{link(name, name, isView ? 'view' : 'table')}</li>)}
        </ul>
        {found.length > MAX_LISTED && <p class='muted'>and {found.length - MAX_LISTED} more: search for them</p>}
        {found.length === 0 && document.tables.length > 0 && <p class='muted'>No table matches.</p>}
        {document.operationsPath !== undefined && <p class='operations'>{link('', 'Several operations', 'bolt')}</p>}
        {named.length > 0 && (
          <div class='operations'>
            <p class='muted' id='named-requests'>Named requests</p>
            <ul aria-labelledby='named-requests'>
              {named.slice(0, MAX_LISTED).map(({ name }) => <li key={name}><a href={writeRoute({ database: document.name, table: '', view: 'call', call: name })} aria-current={isCall && route.call === name ? 'page' : undefined} onClick={() => setOpen(false)}><Icon name='code' /><span>{name}</span></a></li>)}
            </ul>
            {named.length > MAX_LISTED && <p class='muted'>and {named.length - MAX_LISTED} more: search for them</p>}
          </div>
        )}
      </div>
    </nav>
  )
}
