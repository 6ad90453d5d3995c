/** The databases and their tables. */
import { useState } from 'preact/hooks'
import { Icon, type IconName } from './icons.tsx'
import { writeRoute, type Route } from './route.ts'
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
  const words = search.toLowerCase().split(/\s+/)
  const found = document.tables.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)))
  const isMap = route.view === 'map'
  const link = (table: string, text: string, icon: IconName) => (
    <a href={writeRoute({ database: document.name, table })} aria-current={!isMap && route.table === table ? 'page' : undefined} onClick={() => setOpen(false)}><Icon name={icon} /><span>{text}</span>{icon === 'view' && <span class='view'> view</span>}</a>
  )
  return (
    <nav class='sidebar' aria-label='Tables'>
      {databases.length > 1
        ? <label class='database'><span class='word'>Database</span> <select value={document.name} onChange={({ currentTarget }) => onDatabase(currentTarget.value)}>{databases.map((name) => <option key={name}>{name}</option>)}</select></label>
        : <p class='database'><b>{document.name}</b></p>}
      <button type='button' class='toggle' aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>{isMap ? 'Map' : route.table === '' ? 'Several operations' : route.table}<Icon name='down' /></button>
      <div class={isOpen ? 'tables open' : 'tables'}>
        {document.tables.length > 1 && <p class='home'><a href={writeRoute({ database: document.name, table: '', view: 'map' })} aria-current={isMap ? 'page' : undefined} onClick={() => setOpen(false)}><Icon name='map' /><span>Map</span></a></p>}
        {document.tables.length > LONG_LIST && <input type='search' aria-label='Search tables' placeholder={`Search ${document.tables.length} tables`} value={search} onInput={({ currentTarget }) => setSearch(currentTarget.value)} />}
        <ul>
          {found.slice(0, MAX_LISTED).map(({ name, isView }) => <li key={name}>{link(name, name, isView ? 'view' : 'table')}</li>)}
        </ul>
        {found.length > MAX_LISTED && <p class='muted'>and {found.length - MAX_LISTED} more: search for them</p>}
        {found.length === 0 && <p class='muted'>No table matches.</p>}
        {document.operationsPath !== undefined && <p class='operations'>{link('', 'Several operations', 'bolt')}</p>}
      </div>
    </nav>
  )
}
