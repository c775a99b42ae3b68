; ImplQuarantineCoversForgottenFacts (Appendix A.3): for the two audited implementations under timely dispatch. There a
; promise is of use until R after its Prepare, and a record until D_P after its prepare quorum, since the timer starts
; there. Q >= max(D_P, R) covers both.
(set-logic QF_LRA)
(declare-const prepared Real)
(declare-const quorum Real) ; when the prepare quorum was received
(declare-const crashed Real)
(declare-const restarted Real)
(declare-const d_p Real)
(declare-const r Real)
(declare-const q Real)
(define-fun promise-ends () Real (+ prepared r))
(define-fun record-ends () Real (+ quorum d_p))
(define-fun answers-again () Real (+ restarted q))
(assert (and (>= prepared 0) (> d_p 0) (> r 0) (<= prepared quorum) (<= crashed restarted)))

; Claim: a forgotten promise precedes the crash by its Prepare, a forgotten record by its quorum.
(push 1)
(assert (and (>= q d_p) (>= q r)))
(assert (or (and (<= prepared crashed) (not (<= promise-ends answers-again)))
            (and (<= quorum crashed) (not (<= record-ends answers-again)))))
(set-info :status unsat)
(check-sat)
(pop 1)

; Twin: the quarantine counts D_P alone.
(push 1)
(assert (>= q d_p))
(assert (or (and (<= prepared crashed) (not (<= promise-ends answers-again)))
            (and (<= quorum crashed) (not (<= record-ends answers-again)))))
(set-info :status sat)
(check-sat)
(pop 1)
