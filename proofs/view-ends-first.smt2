; L1, and the client's own authority: what a node tells of a lease (td minus its clock, read after it had received our
; stamp) is shrunk and counted from that stamp; then our deadline comes, in real time, no later than td. The node's clock
; may be the fastest allowed and ours the slowest.
(set-logic QF_NRA)
(declare-const rho Real)
(declare-const asked Real)     ; real time at which we read our clock, before we sent
(declare-const told Real)      ; at which the node read its own
(declare-const remaining Real) ; what it told, on its clock
(declare-const shrunk Real)
(declare-const t Real)         ; an instant at which we believe, and the node no longer does
(declare-const ours-passed Real)
(declare-const node-passed Real)
(assert (and (<= 0.0 rho) (< rho 1.0) (>= remaining 0.0)))
(assert (<= asked t))
(assert (<= told t))
(assert (>= ours-passed (* (- 1.0 rho) (- t asked))))
(assert (<= node-passed (* (+ 1.0 rho) (- t told))))
(assert (< ours-passed shrunk))
(assert (>= node-passed remaining))
(assert (<= (* shrunk (+ 1.0 rho)) (* remaining (- 1.0 rho))))

; Instances of product-order.smt2, with 1 + rho > 0 and 1 - rho > 0.
(define-fun slow () Real (- 1.0 rho))
(define-fun fast () Real (+ 1.0 rho))
(assert (=> (< (* slow (- t asked)) shrunk) (< (* (* slow (- t asked)) fast) (* shrunk fast))))
(assert (=> (<= remaining (* fast (- t told))) (<= (* remaining slow) (* (* fast (- t told)) slow))))
(assert (=> (<= asked told) (<= (* (* fast (- t told)) slow) (* (* fast (- t asked)) slow))))

; Claim: there is none.
(push 1)
(assert (<= asked told))
(set-info :status unsat)
(check-sat)
(pop 1)

; Twin: counted from the arrival of the answer (audit finding 6): the node read its clock before we did. Here at 1 %.
(push 1)
(assert (= rho 0.01))
(set-info :status sat)
(check-sat)
(pop 1)
