; QuarantineBoundTight (Appendix A.3): any quarantine below D_P leaves an instant at which the acceptor answers again and
; the attempt that it forgot still lives. Claimed for every such Q; the crash is the earliest there can be.
(set-logic QF_LRA)
(declare-const prepared Real)
(declare-const d_p Real)
(declare-const q Real)
(define-fun crashed () Real prepared)
(define-fun answers-again () Real (+ crashed q))
(assert (and (>= prepared 0) (> d_p 0) (>= q 0)))

; Claim: when the acceptor answers again the attempt is alive.
(push 1)
(assert (< q d_p))
(assert (not (< answers-again (+ prepared d_p))))
(set-info :status unsat)
(check-sat)
(pop 1)

; Twin: the same of Q <= D_P; at Q = D_P nothing is left.
(push 1)
(assert (<= q d_p))
(assert (not (< answers-again (+ prepared d_p))))
(set-info :status sat)
(check-sat)
(pop 1)
