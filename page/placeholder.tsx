/** What stands where there is nothing: an empty list and what can be done about it, or lines that are still to come. */
import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icons.tsx'

export function Empty ({ icon = 'table', title, children }: { icon?: IconName, title: ComponentChildren, children?: ComponentChildren }) {
  return <div class='empty'><Icon name={icon} /><p><b>{title}</b></p>{children}</div>
}

/** `lines`: about so many are to come. */
export function Skeleton ({ lines = 8 }: { lines?: number }) {
  return <div class='skeletons' role='group' aria-busy='true' aria-label='Loading'>{Array.from({ length: lines }, (_, index) => <span key={index} class='skeleton' />)}</div>
}
